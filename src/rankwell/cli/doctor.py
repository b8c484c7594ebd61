"""`rankwell doctor`: whether everything is in order on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import orjson
import typer

if TYPE_CHECKING:
    from rankwell.doctor import Checkup


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    warm: Annotated[
        bool, typer.Option("--warm", help="Compile all kernels now, so that the first search does not wait.")
    ] = False,
) -> None:
    """Look at versions, extras, processor, caches and models, and say what is wrong and how to mend it."""
    from rankwell.doctor import examine, warm_kernels

    if warm:
        for group in warm_kernels():
            print(orjson.dumps(group._asdict()).decode() if as_json else group, flush=True)
        return
    found = examine()
    if as_json:
        print(orjson.dumps(found.as_dict(), option=orjson.OPT_INDENT_2).decode())
    else:
        _print(found)
    if found.broken:
        raise typer.Exit(1)


def _print(found: Checkup) -> None:
    signs = {"good": " ", "note": "-", "broken": "!"}
    for section in found.sections:
        print(section.title)
        width = max(len(finding.name) for finding in section.findings) + 2
        for finding in section.findings:
            print(f"  {signs[finding.state]} {finding.name:<{width}}{finding}")
        print()
    for finding in found.notes:
        print(f"could be better: {finding.name}: {finding.way_out}")
    for finding in found.broken:
        print(f"broken: {finding.name}: {finding}" + (f"; {finding.way_out}" if finding.way_out else ""))
    if not found.broken:
        print("Rankwell can do its work here." + ("" if not found.notes else " Nothing is broken."))
