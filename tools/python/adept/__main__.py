"""`python -m adept`: the program."""
from ._program import run_as_command

run_as_command()
