from __future__ import annotations

from pathlib import Path

import pytest

from browser import assert_readable, chromium, new_page
from rankwell.studies import read_numbers, run_study, write_report
from small_study import ALONE, STUDY, begun

pytestmark = pytest.mark.slow


def test_a_report_reads_well_everywhere_and_a_click_leads_to_the_cell(tmp_path: Path) -> None:
    folder = begun(tmp_path, STUDY.replace("weighted", "'<script>alert(1)</script> weighted'"))
    write_report(folder, run_study(folder, ALONE, quiet=True)[0])
    page = folder.path / "report.html"
    first = read_numbers(folder.path)["tables"][0]["rows"][0]["figures"]["nDCG@10"]
    with chromium() as browser:
        for dark in (False, True):
            assert_readable(browser, page, dark=dark)
        with new_page(browser) as shown:
            shown.goto(page.as_uri())
            shown.get_by_role("link", name=f"{first['value']:.4f}").first.click()
            heading = shown.locator(f"#cell-{first['cell']}")
            assert heading.bounding_box()["y"] < 800
            beside = shown.locator(f"#cell-{first['cell']} + dl").inner_text()
            record = folder.store.find(first["cell"])
            assert f"cells/{first['cell']}/run.trec" in beside
            assert record["configuration"]["data"] in beside
            assert "seed" in beside
