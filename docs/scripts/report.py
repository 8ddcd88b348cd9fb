"""Make the picture of docs/reference/report.md: `python docs/scripts/report.py`.

It needs Chromium and Pillow, which matplotlib brings.
"""

import shutil
import tempfile
from pathlib import Path

import polars as pl

import graphgrad as gg
from graphgrad.demo import demo_data

PICTURE = Path(__file__).parents[1] / "images" / "report.png"


def photograph(report: Path, picture: Path) -> None:
    """Words, equations and graph at the width of a desk, one arrow looked at."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        page = browser.new_page(viewport={"width": 1100, "height": 1540})
        page.goto(report.as_uri())
        page.locator(".edge").nth(2).focus()
        page.evaluate("scrollTo(0, 0)")
        page.screenshot(path=picture)
        browser.close()
    # Few colours make a small file.
    Image.open(picture).convert("RGB").quantize(200).save(picture, optimize=True)


if __name__ == "__main__":
    file = Path(tempfile.mkdtemp()) / "report.html"
    fitted = gg.GraphGrad().fit(pl.read_csv(demo_data()))
    fitted.report(file, title="What acts on what in lorenz.csv")
    photograph(file, PICTURE)
