"""A process that saves grades of many assessors at once, and says of each one when it is saved.

    python grading.py ADDRESS NAME...

A line of its output is an assessor, an assignment, a position and a grade.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor

from rankwell.judging import open_study


def main(address: str, names: list[str]) -> None:
    with open_study(address) as store, ThreadPoolExecutor(len(names)) as threads:

        def grade(name: str) -> None:
            number = 0
            while task := store.judging.task(name):
                number += 1
                store.judging.give(name, task.assignment, task.position, number % 5 + 1)
                line = f"{name} {task.assignment} {task.position} {number % 5 + 1}\n"
                os.write(1, line.encode())  # one write, not buffered: a line is whole or not there

        list(threads.map(grade, names))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
