import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import feedparser
import pytest

from publisher.domain.article import MANIFEST_PATH, Withdrawn
from publisher.domain.fingerprint import digest, release_id
from publisher.errors import Bug, InputProblem, StoppedForSafety
from publisher.ports import BuildRequest
from publisher.sitebuilder.builder import OUTPUTS, Builder, check_paths
from publisher.sitebuilder.theme import default_theme
from tests.support.sitebuilding import SITE, article, build, png, request


def many(count: int):
    return [article(number) for number in range(1, count + 1)]


def refusal(tmp_path: Path, *articles, **changes) -> InputProblem:
    with pytest.raises(InputProblem) as caught:
        build(tmp_path, *articles, **changes)
    assert not any((tmp_path / "out-0").iterdir()), "nothing is written before everything is checked"
    return caught.value


class Outline(HTMLParser):
    """What a page has, for the rules that every page keeps."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        assert not self.open, f"unclosed {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "img", "br", "hr", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def all(self, tag: str):
        return [attrs for name, attrs in self.tags if name == tag]


def pages(files: dict[str, str]) -> dict[str, Outline]:
    return {path: Outline(text) for path, text in files.items() if path.endswith(".html")}


def test_the_release_is_what_was_written(tmp_path):
    release, files = build(tmp_path, *many(3))
    root = Path(release.root)
    assert {str(p.relative_to(root)): digest(p.read_bytes()) for p in root.rglob("*") if p.is_file()} == release.files
    assert release.id == release_id(release.files)
    assert {"index.html", "404.html", "archive/index.html", "tags/index.html", "tags/winter/index.html", "feed.xml", "atom.xml",
            "categories/beds/index.html", "sitemap.xml", "robots.txt", MANIFEST_PATH, "bed-1/index.html", "assets/style.css",
            } <= files.keys()  # fmt: skip


def test_every_page_is_sound(tmp_path):
    _, files = build(tmp_path, *many(25), withdrawn=())
    for path, page in pages(files).items():
        assert page.tags[0] == ("html", {"lang": "en"}), path
        assert len(page.all("h1")) == 1 and len(page.all("main")) == 1, path
        assert {attrs.get("name") for attrs in page.all("meta")} >= {"viewport", "description"}, path
        rels = [attrs["rel"] for attrs in page.all("link")]
        assert rels.count("alternate") == 2 and ("canonical" in rels) == (path != "404.html"), path
        assert not page.all("script") and len(files[path]) < 50_000, path
        assert page.all("a")[0]["href"] == "#_main"
        ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
        assert len(ids) == len(set(ids)) and all("style" not in attrs for _, attrs in page.tags), path


def test_nothing_is_asked_of_third_parties_and_every_link_works(tmp_path):
    _, files = build(tmp_path, *many(25))
    for path, page in pages(files).items():
        used = [a["src"] for a in page.all("img")] + [a["href"] for a in page.all("a")]
        used += [a["href"] for a in page.all("link") if a["rel"] != "canonical"]
        for target in used:
            if target.startswith("#"):
                continue
            assert target.startswith("/") and not target.startswith("//"), (path, target)
            name = target.partition("?")[0].removeprefix("/")
            assert (name + "index.html" if name == "" or name.endswith("/") else name) in files, (path, target)
    assert "url(" not in files["assets/style.css"] and "@import" not in files["assets/style.css"]


def test_numbers_of_pages_never_change(tmp_path):
    _, before = build(tmp_path, *many(30))
    _, after = build(tmp_path, *many(31))
    assert [path for path in before if path.startswith("page/")] == ["page/1/index.html", "page/2/index.html"]
    changed = sorted(path for path in after if before.get(path) != after[path])
    assert changed == [
        ".well-known/publisher.json", "archive/index.html", "atom.xml", "bed-30/index.html", "bed-31/index.html",
        "categories/beds/index.html", "feed.xml", "index.html", "sitemap.xml", "tags/winter/index.html",
    ]  # fmt: skip
    shown = [a["href"] for a in Outline(before["page/1/index.html"]).all("a") if a["href"].startswith("/bed-")]
    assert shown == [f"/bed-{number}/" for number in range(10, 0, -1)]
    for count, on_home in ((0, 0), (9, 9), (10, 10), (19, 19), (20, 10), (25, 15)):
        _, files = build(tmp_path, *many(count))
        assert files["index.html"].count("<h2>") == on_home
        assert ("page/1/index.html" in files) == (count >= 20)


def test_an_empty_site_has_its_pages_and_feeds(tmp_path):
    _, files = build(tmp_path)
    assert {"index.html", "404.html", "feed.xml", "atom.xml", "archive/index.html"} <= files.keys()
    assert json.loads(files[MANIFEST_PATH])["articles"] == []
    assert "2026-01-01" in files["atom.xml"], "an empty feed shows the date of the site's identity, not the clock's"
    assert not feedparser.parse(files["atom.xml"]).bozo


def test_neighbours_are_published_articles_only(tmp_path):
    _, files = build(tmp_path, *many(3))
    rels = {
        path: [(a["rel"], a["href"]) for a in pages(files)[path].all("a") if a.get("rel") in ("next", "prev")]
        for path in files
        if path.startswith("bed-")
    }
    assert rels == {
        "bed-1/index.html": [("next", "/bed-2/")],
        "bed-2/index.html": [("prev", "/bed-1/"), ("next", "/bed-3/")],
        "bed-3/index.html": [("prev", "/bed-2/")],
    }


def test_feeds_carry_the_newest_twenty_in_full(tmp_path):
    text = "## Part\n\n[two](/bed-2/#part) & <b> ]]> n[^1]\n\n![wall](w.png)\n\n[^1]: note\n"
    articles = [article(number, body=text, files={"w.png": png()}) for number in range(1, 23)]
    _, files = build(tmp_path, *articles[::-1])
    rss, atom = feedparser.parse(files["feed.xml"]), feedparser.parse(files["atom.xml"])
    assert not rss.bozo and not atom.bozo and (rss.version, atom.version) == ("rss20", "atom10")
    for feed in (rss, atom):
        assert [entry.id for entry in feed.entries] == [SITE.guid_of(f"g-{number:04}") for number in range(22, 2, -1)]
        html = feed.entries[0].content[0].value
        assert 'href="https://garden.example/bed-2/#part"' in html and 'src="https://garden.example/bed-22/w.png"' in html
        assert feed.entries[0].link == "https://garden.example/bed-22/"
    root = ET.fromstring(files["feed.xml"])
    assert {guid.attrib["isPermaLink"] for guid in root.iter("guid")} == {"false"}
    assert (
        root.find("channel/lastBuildDate").text == root.find("channel/item/pubDate").text == "Fri, 23 Jan 2026 09:00:00 +0100"
    )


def test_a_correction_shows_its_date_and_keeps_its_own(tmp_path):
    _, files = build(tmp_path, article(1, updated="2026-03-01T23:30:00-05:00"))
    assert '<time datetime="2026-01-02T09:00:00+01:00">2 January 2026</time>' in files["bed-1/index.html"]
    assert 'updated <time datetime="2026-03-01T23:30:00-05:00">1 March 2026</time>' in files["bed-1/index.html"]
    assert "<lastmod>2026-03-01T23:30:00-05:00</lastmod>" in files["sitemap.xml"]
    assert "<updated>2026-03-01T23:30:00-05:00</updated>" in files["atom.xml"]


def test_the_manifest_says_what_is_public(tmp_path):
    gone = Withdrawn(id="g-0009", url="/old/", answer="gone")
    release, files = build(tmp_path, *many(2), withdrawn=(gone,))
    manifest = json.loads(files[MANIFEST_PATH])
    assert (manifest["schema"], manifest["site"]) == ("publisher.manifest/1", "garden")
    assert manifest["articles"][0] == {
        "id": "g-0001", "url": "/bed-1/", "guid": SITE.guid_of("g-0001"), "date": "2026-01-02T09:00:00+01:00",
        "digest": release.files["bed-1/index.html"],
    }  # fmt: skip
    assert manifest["withdrawn"] == [{"id": "g-0009", "url": "/old/", "answer": "gone"}]
    assert "old/index.html" not in files


def test_a_redirect_leads_to_a_page_that_is_there(tmp_path):
    moved = Withdrawn(id="g-0009", url="/old/", answer="redirect", to="/bed-1/")
    _, files = build(tmp_path, article(), withdrawn=(moved,))
    page = files["old/index.html"]
    assert (
        'content="0; url=https://garden.example/bed-1/"' in page
        and 'rel="canonical" href="https://garden.example/bed-1/"' in page
    )
    assert 'name="robots" content="noindex"' in page and "/old/" not in files["sitemap.xml"]


@pytest.mark.parametrize(
    ("withdrawn", "code"),
    [
        (Withdrawn(id="x", url="/bed-1/", answer="gone"), "bad-withdrawal"),
        (Withdrawn(id="x", url="/old/", answer="redirect"), "bad-withdrawal"),
        (Withdrawn(id="x", url="/old/", answer="gone", to="/bed-1/"), "bad-withdrawal"),
        (Withdrawn(id="x", url="/old/", answer="hidden"), "bad-withdrawal"),
        (Withdrawn(id="x", url="/old/", answer="redirect", to="/nowhere/"), "broken-redirect"),
        (Withdrawn(id="x", url="/old/", answer="redirect", to="/old/"), "broken-redirect"),
        (Withdrawn(id="x", url="/old/", answer="redirect", to="javascript:x"), "broken-redirect"),
        (Withdrawn(id="x", url="/old/", answer="redirect", to='https://e.org/"><b>'), "broken-redirect"),
    ],
)
def test_withdrawals_that_answer_wrongly_are_refused(tmp_path, withdrawn, code):
    assert refusal(tmp_path, article(), withdrawn=(withdrawn,)).code == code


@pytest.mark.parametrize(
    ("link", "code"),
    [("/nowhere/", "broken-link"), ("/bed-2", "link-without-slash"), ("/bed-2/#no", "broken-anchor"), ("#no", "broken-anchor"),
     ("/bed-2/w.png", "broken-link"), ("/tags/#x", "broken-anchor")],
)  # fmt: skip
def test_broken_links_stop_the_build_at_their_line(tmp_path, link, code):
    text = f"Private words.\n\nAnd [more]({link}).\n"
    problem = refusal(tmp_path, article(1, body=text), article(2))
    assert (problem.code, problem.where) == (code, "site-src/garden/articles/g-0001/index.md:14:1")
    assert "words" not in problem.says and "more" not in problem.says


def test_working_links_of_every_kind(tmp_path):
    links = "[a](/bed-2/#part) [b](#über-uns) [c](/) [d](/feed.xml) [e](/bed-2/w.png) [f](/tags/winter/)"
    text = f"## Über uns\n\n{links} n[^1]\n\n[^1]: [g](#fn1)\n"
    build(tmp_path, article(1, body=text), article(2, body="## Part\n\n![w](w.png)\n", files={"w.png": png()}))


def test_a_missing_image_or_text_stops_the_build(tmp_path):
    assert refusal(tmp_path, article(body="![x](w.png)\n")).code == "missing-file"
    assert refusal(tmp_path, article(body="![](w.png)\n", files={"w.png": png()})).where.endswith("g-0001/index.md:12:1")


def test_a_site_in_a_folder(tmp_path):
    site = replace(SITE, url="https://ada.example/garden/")
    _, files = build(tmp_path, *many(2), site=site)
    for path, page in pages(files).items():
        assert all(a["href"].startswith(("/garden/", "#")) for a in page.all("a")), path
    assert "https://ada.example/garden/bed-1/" in files["sitemap.xml"]


def test_two_things_never_share_a_path(tmp_path):
    assert refusal(tmp_path, article(1), article(2, slug="bed-1")).code == "two-outputs"
    assert refusal(tmp_path, article(1), replace(article(1), url="/other/", guid="tag:x")).code == "two-outputs"
    for static in (
        {"index.html": b""},
        {"INDEX.html": b""},
        {"Bed-1/x.txt": b"", "bed-1/X.txt": b""},
        {"bed-1": b""},
        {"robots.txt": b""},
    ):
        assert refusal(tmp_path, article(1), static=static).code == "two-outputs"
    with pytest.raises(InputProblem):
        check_paths({"ﬁle": b"", "file": b""})


@pytest.mark.parametrize(
    "path",
    ["../x", "/x", "a//b", "con", "a/NUL.txt", ".git/config", "a b", "x.", "a\\b", "é", "", ".well-known/publisher-claim.json"],
)
def test_paths_that_servers_read_differently_are_refused(path):
    with pytest.raises(InputProblem) as caught:
        check_paths({path: b""})
    assert caught.value.code == "bad-output-path"


def test_static_files_are_published_as_they_are(tmp_path):
    _, files = build(tmp_path, article(), static={"favicon.ico": b"\0", ".well-known/security.txt": b"Contact: x"})
    assert files[".well-known/security.txt"] == "Contact: x" and "favicon.ico" in files


def test_an_unknown_output_version_stops(tmp_path):
    with pytest.raises(StoppedForSafety) as caught:
        Builder().build(request(article(), output=99), str(tmp_path))
    assert caught.value.code == "unknown-output-version" and set(OUTPUTS) == {1, 2}


def test_only_an_empty_directory_is_built_into(tmp_path):
    (tmp_path / "left").write_text("over")
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(Bug):
            Builder().build(request(article()), str(folder))


def test_fields_are_text_and_never_markup_or_templates(tmp_path):
    title = '<script>alert(1)</script> {{ site.id }} & "co"'
    _, files = build(tmp_path, article(title=title, summary=title, body="{{ 7*7 }} {% if %}\n"))
    page = files["bed-1/index.html"]
    assert "<script" not in page and "{{ site.id }}" in page and "{{ 7*7 }} {% if %}" in page
    assert feedparser.parse(files["atom.xml"]).entries[0].title.replace("&lt;", "<").startswith("<script>alert(1)")


def test_the_date_is_the_one_in_the_articles_own_offset(tmp_path):
    _, files = build(tmp_path, article(date="2026-01-01T00:30:00+13:00"))
    assert ">1 January 2026</time>" in files["bed-1/index.html"]


SCRIPT = """
import os, sys, tempfile
os.umask(int(sys.argv[1], 8))
sys.path.insert(0, sys.argv[2])
import locale
locale.setlocale(locale.LC_ALL, "")
from tests.support.sitebuilding import article, png, request
from publisher.sitebuilder.builder import Builder
body = "## Part\\n\\n```python\\nx = {1, 2}\\n```\\n\\n![w](w.png) [^1]\\n\\n[^1]: n\\n"
articles = [article(n, body=body, files={"w.png": png()}, tags=("b", "a")) for n in range(1, 24)]
made = request(*articles)
items = list(made.theme.items())
from dataclasses import replace
made = replace(made, theme=dict(items[::-1] if sys.argv[3] == "1" else items))
with tempfile.TemporaryDirectory() as folder:
    print(Builder().build(made, folder).id)
"""


@pytest.mark.slow
def test_the_same_request_gives_the_same_bytes_anywhere(tmp_path):
    root = str(Path(__file__).parents[2])
    found = set()
    for number, (zone, language, seed, umask) in enumerate(
        [("UTC", "C", "0", "022"), ("Pacific/Kiritimati", "C.UTF-8", "1", "077"), ("America/St_Johns", "POSIX", "4242", "002")]
    ):
        env = {"PATH": os.environ["PATH"], "TZ": zone, "LC_ALL": language, "PYTHONHASHSEED": seed, "HOME": str(tmp_path)}
        ran = subprocess.run(
            [sys.executable, "-c", SCRIPT, umask, root, str(number % 2)],
            env=env, cwd=tmp_path, capture_output=True, text=True, check=True,
        )  # fmt: skip
        found.add(ran.stdout.strip())
    assert len(found) == 1


def test_a_request_is_pure(tmp_path):
    asked = BuildRequest(site=SITE, articles=tuple(many(3)), theme=default_theme(), output=1)
    ids = set()
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        ids.add(Builder().build(asked, str(tmp_path / name)).id)
    assert len(ids) == 1
