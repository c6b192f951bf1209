"""``python -m sinterfs``: list, extract, build and check images, as ``python -m zipfile`` does."""

from __future__ import annotations

import argparse
import sys

from . import SinterError, build, check
from . import open as open_image


def main(words: list[str] | None = None) -> int:
    """Run a command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m sinterfs", description=__doc__)
    one = parser.add_mutually_exclusive_group(required=True)
    one.add_argument("-l", "--list", metavar="IMAGE", help="list the paths")
    one.add_argument("-e", "--extract", nargs=2, metavar=("IMAGE", "DIR"), help="unpack it")
    one.add_argument(
        "-c", "--create", nargs="+", metavar=("IMAGE", "SOURCE"), help="build it of sources"
    )
    one.add_argument("-t", "--test", metavar="IMAGE", help="read all of it")
    asked = parser.parse_args(words)
    if asked.create and len(asked.create) < 2:
        parser.error("argument -c/--create: a source is missing")
    told: list[str] = []
    failed = False
    try:
        if asked.list:
            with open_image(asked.list) as image:
                for path, stat in image.stats():
                    # a name that is not UTF-8 has surrogates
                    name = path.encode(errors="backslashreplace").decode()
                    sys.stdout.write(f"{stat.st_size:>12} {name}\n")
        elif asked.extract:
            with open_image(asked.extract[0]) as image:
                made = image.extract(asked.extract[1])
            told, failed = made.warnings, bool(made.failed or made.damaged or made.imperfect)
        elif asked.create:
            built = build(asked.create[1:], asked.create[0])
            lost = [f"not kept: {what} ({count})" for what, count in built.losses]
            told, failed = built.warnings + lost, bool(built.incomplete)
        else:
            told = check(asked.test, deep=True).problems
            failed = bool(told)
    except (SinterError, OSError) as error:
        sys.stderr.write(f"{parser.prog}: {error}\n")
        return 1
    for line in told:
        sys.stderr.write(f"{parser.prog}: {line}\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
