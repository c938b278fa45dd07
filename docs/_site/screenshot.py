"""Make docs/annotation.png: the page on which trees are corrected, in a browser without a screen.

    python docs/_site/screenshot.py

Needs Flask, selenium, chromium and chromedriver.
"""

import shutil
import threading
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from selenium import webdriver
from selenium.webdriver import ActionChains

from spectral_latent import load
from spectral_latent_annotate import Project, serve

SENTENCE = "the zebra chases this friendly cat with a telescope in the garden ."


def main() -> None:
    """Show a sentence after 80 trees, and choose a phrase that the parser is not sure of."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "trees.mrg")
        trees = load("toy").sample(80, np.random.default_rng(0))
        path.write_text("\n".join(tree.bracketed() for tree in trees), encoding="utf-8")
        project = Project(path, [SENTENCE.split()], annotator="anna")
        server = serve(project, 0)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1000,760"):
            options.add_argument(argument)
        browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
        browser.implicitly_wait(20)
        browser.get(server.address)
        unsure = browser.find_elements("css selector", "#tree .unsure text, #tree .doubtful text")
        ActionChains(browser).click(unsure[0]).perform()
        browser.save_screenshot(str(Path(__file__).parents[1] / "annotation.png"))
        browser.quit()
        server.shutdown()
        project.close()


if __name__ == "__main__":
    main()
