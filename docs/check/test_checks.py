"""Tests of the checks of code blocks and links."""

from __future__ import annotations

import contextlib
import io
import tempfile
import unittest
from pathlib import Path

from blocks import Document, Mode, Wrong, blocks_of, equal, missing
from paths import links, paths
from site_pages import Dead, dead_links, target

FENCE = "```"


def wrong(text: str) -> list[str]:
    """Return the errors of a document's check."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.md"
        path.write_text(text.replace("'''", FENCE), encoding="utf-8")
        try:
            Document(Mode(package=True)).check(path)
        except Wrong as error:
            return [str(error)]
    return []


class Blocks(unittest.TestCase):
    """Checks of code blocks."""

    def test_valid_documents_pass(self) -> None:
        self.assertEqual(wrong("'''console\n$ x=3; cd /\n$ echo $x; pwd\n3\n/\n'''\n\n'''text\n3\n'''\n"), [])
        self.assertEqual(wrong("'''python\nx = 3\n'''\n\n'''python\nprint(x + 1)\n'''\n\n'''text\n4\n'''\n"), [])
        self.assertEqual(wrong("<!-- saved as: a -->\n'''toml\nb = 1\n'''\n\n'''console\n$ cat a\nb = 1\n'''\n"), [])

    def test_failing_command(self) -> None:
        (found,) = wrong("'''console\n$ true\n$ false\n'''\n")
        self.assertIn("page.md:1: failed: false", found)

    def test_failure_within_pipe(self) -> None:
        self.assertEqual(len(wrong("'''console\n$ false | cat\n'''\n")), 1)

    def test_different_output(self) -> None:
        (found,) = wrong("'''console\n$ echo 3\n4\n'''\n")
        self.assertIn("wrote something else", found)
        (found,) = wrong("'''console\n$ echo 3\n'''\n\n'''text\n4\n'''\n")
        self.assertIn("nothing above it writes this", found)

    def test_failing_code(self) -> None:
        (found,) = wrong("'''python\nraise ValueError(7)\n'''\n")
        self.assertIn("ValueError: 7", found)

    def test_unchecked_blocks(self) -> None:
        for text in ("'''\nx\n'''\n", "'''sh\nls\n'''\n", "'''rust\nfn f() {}\n'''\n", "'''text\nx\n'''\n"):
            self.assertEqual(len(wrong(text)), 1, text)

    def test_notes_need_reasons_and_known_names(self) -> None:
        self.assertIn("without a reason", wrong("<!-- not run -->\n'''sh\nls\n'''\n")[0])
        self.assertIn("no such note", wrong("<!-- not runn: x -->\n'''sh\nls\n'''\n")[0])

    def test_invalid_data(self) -> None:
        for language, text in (("toml", "a = "), ("json", "{"), ("csv", "a,b\n1,2")):
            self.assertEqual(len(wrong(f"'''{language}\n{text}\n'''\n")), 1, language)

    def test_unterminated_block(self) -> None:
        self.assertIn("does not end", wrong("'''text\nx\n")[0])

    def test_places(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "page.md"
            path.write_text(f"a\n\n<!-- package -->\n{FENCE}console\n$ ls\n{FENCE}\n", encoding="utf-8")
            (block,) = blocks_of(path)
        self.assertEqual((block.line, block.language, block.note, block.text), (4, "console", "package", "$ ls\n"))


class Comparison(unittest.TestCase):
    """Comparison with the output in a document."""

    def test_lines_in_order(self) -> None:
        actual = "a  b\nc\nd\n"
        self.assertIsNone(missing("a b\nd", actual))
        self.assertEqual(missing("d\nc", actual), "c")
        self.assertIsNone(missing("a … d", actual))

    def test_whole_outputs(self) -> None:
        self.assertTrue(equal(["a", "…", "d"], ["a", "b", "c", "d"]))
        self.assertTrue(equal(["took … s"], ["took 3.1 s"]))
        self.assertFalse(equal(["a", "b"], ["a", "b", "c"]))
        self.assertFalse(equal(["a.c"], ["abc"]))


class Paths(unittest.TestCase):
    """Paths in documents."""

    def test_paths_are_distinguished_from_other_code(self) -> None:
        text = """In `crates/sim/`, `crates/NAME/src`, `d3/`, [d3](d3.md#a) and `script/bench --quick`.
            '''sh\ncat `crates/none`\n'''
            Then `docs/*.md`, `docs/README.md`, [a](#a), [b](https://example.org).""".replace("'''", FENCE)
        self.assertEqual(paths(text), ["crates/sim/", "script/bench", "docs/README.md"])
        self.assertEqual(links(text), ["d3.md"])


class Links(unittest.TestCase):
    """Links of the site."""

    def test_links_of_the_repository(self) -> None:
        places = {"docs/a.md": "a.md", "docs/x/b.md": "x/b.md", "ARCHITECTURE.md": "development/architecture.md"}
        self.assertEqual(target("../a.md#part", "docs/x/b.md", places), "../a.md#part")
        self.assertEqual(target("../ARCHITECTURE.md", "docs/a.md", places), "development/architecture.md")
        self.assertEqual(target("docs/a.md", "ARCHITECTURE.md", places), "../a.md")
        self.assertTrue(target("../scenarios", "docs/a.md", places).endswith("/tree/main/scenarios"))
        self.assertEqual(target("https://example.org/x", "docs/a.md", places), "https://example.org/x")
        with self.assertRaises(Dead):
            target("none.md", "docs/a.md", places)

    def test_dead_links_of_pages(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name).resolve()
            (folder / "a.html").write_text('<p id="x"></p><a href="b.html#y"></a><a href="#x"></a>', encoding="utf-8")
            (folder / "b.html").write_text(
                '<a href="c.html"></a><a href="a.html#z"></a><script src="https://example.org/s.js"></script>',
                encoding="utf-8",
            )
            with contextlib.redirect_stdout(io.StringIO()):
                found = list(dead_links(folder))
        self.assertEqual(len(found), 4, found)


if __name__ == "__main__":
    unittest.main()
