"""Markdown as the documents have it."""
import re
import textwrap

WIDTH = 100


def wrap(text):
    """Paragraphs and list items with a longer line, broken at WIDTH. Headings, tables, code and pictures stay."""
    blocks, fenced = [], False
    for block in text.split("\n\n"):
        lines = block.split("\n")
        is_prose = not fenced and not any(re.match(r"\s{4}|\s*[|#>!]|```", line) for line in lines)
        fenced ^= sum(line.startswith("```") for line in lines) % 2
        if is_prose and max(map(len, lines)) > WIDTH:
            end = len(block.rstrip("\n"))
            block = "\n".join(line for item in re.split(r"\n(?=\s*- )", block[:end]) for line in _wrap_item(item)) + block[end:]
        blocks.append(block)
    return "\n\n".join(blocks)


def _wrap_item(item):
    if max(map(len, item.split("\n"))) <= WIDTH:
        return [item]
    indent, dash = re.match(r"(\s*)(- )?", item).groups("")
    return textwrap.wrap(" ".join(item.split()), WIDTH, initial_indent=indent, subsequent_indent=indent + " " * len(dash),
                         break_long_words=False, break_on_hyphens=False)
