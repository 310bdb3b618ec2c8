"""What tools/measure_step.py is made of: workloads, the timed step, the power meter and the table of results."""
