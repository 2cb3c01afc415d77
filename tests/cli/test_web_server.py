"""The local web server: what it serves, how, and what it never does."""

from __future__ import annotations

import http.client
import os
import threading
from contextlib import contextmanager

import pytest

from publisher.cli.web_server import LocalServer, Place, answer_for, content_type
from publisher.errors import InputProblem, UsageProblem

FILES = {
    "index.html": "home",
    "404.html": "lost",
    "fences/index.html": "fences",
    "fences/fence.svg": "<svg/>",
    "assets/style.css": "body{}",
    "feed.xml": '<?xml version="1.0"?>\n<rss version="2.0"/>',
    "atom.xml": '<?xml version="1.0"?>\n<feed xmlns="http://www.w3.org/2005/Atom"/>',
    "sitemap.xml": '<?xml version="1.0"?>\n<urlset/>',
    ".well-known/publisher.json": "{}",
    ".nojekyll": "",
    ".git/config": "secret",
    "empty/note.txt": "in a folder without an index",
    "plain": "no ending",
}


@pytest.fixture
def site(tmp_path):
    release = tmp_path / "public" / "releases" / "one"
    for path, text in FILES.items():
        (release / path).parent.mkdir(parents=True, exist_ok=True)
        (release / path).write_text(text, encoding="utf-8")
    (tmp_path / "outside.txt").write_text("private", encoding="utf-8")
    (tmp_path / "public" / "current").symlink_to("releases/one")
    return tmp_path / "public"


def place(site, **more):
    return Place(folder=lambda: site / "current", **more)


@contextmanager
def serving(a_place, names=()):
    server = LocalServer(a_place, 0, names)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def ask(server, path, method="GET", host=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=5)
    try:
        connection.request(method, path, headers={"Host": host or f"127.0.0.1:{server.server_port}"})
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read()
    finally:
        connection.close()


def get(site, target, **more):
    found = answer_for(place(site, **more), target)
    return found.status.value, found.body.decode()


@pytest.mark.parametrize(
    ("target", "text"),
    [("/", "home"), ("/fences/", "fences"), ("/fences/?publisher-check=1", "fences"), ("/fences/fence.svg", "<svg/>"),
     ("/.well-known/publisher.json", "{}"), ("/fences/index.html", "fences"), ("/%66ences/", "fences"), ("//fences//", "fences")],
)  # fmt: skip
def test_pages_and_files(site, target, text):
    assert get(site, target) == (200, text)


@pytest.mark.parametrize(
    "target",
    ["/none/", "/fences/fence.svg/", "/.git/config", "/.nojekyll", "/../outside.txt", "/%2e%2e/outside.txt", "/empty/",
     "/fences/..%2f..%2f..%2foutside.txt", "/..%5coutside.txt", "/a%00b", "/%ff", "/fences/%0a", "/c:/x", "//evil.example/%2e%2e",
     "/assets", "/index.html/"],
)  # fmt: skip
def test_everything_else_is_the_sites_own_404(site, target):
    assert get(site, target) == (404, "lost")


def test_a_folder_without_its_slash_redirects_within_the_site(site):
    found = answer_for(place(site), "/fences?x=1")
    assert (found.status.value, found.location) == (301, "/fences/?x=1")
    found = answer_for(place(site), "//fences")
    assert (found.status.value, found.location) == (301, "/fences/"), "not //fences/, which names another host"
    found = answer_for(place(site, prefix="/blog/"), "/blog/fences")
    assert found.location == "/blog/fences/"


def test_links_that_leave_the_folder_are_not_followed(site):
    (site / "current" / "leak.txt").symlink_to(site.parent / "outside.txt")
    (site / "current" / "up").symlink_to(site.parent)
    (site / "current" / "loop").symlink_to("loop")
    (site / "current" / "inside.txt").symlink_to("fences/fence.svg")
    assert get(site, "/leak.txt")[0] == 404
    assert get(site, "/up/outside.txt")[0] == 404
    assert get(site, "/loop")[0] == 404
    assert get(site, "/inside.txt") == (200, "<svg/>")


def test_a_404_page_that_leaves_the_folder_is_not_shown(site):
    (site / "current" / "404.html").unlink()
    (site / "current" / "404.html").symlink_to(site.parent / "outside.txt")
    assert get(site, "/none/") == (404, "Not found.\n")


def test_the_switch_is_followed_live(site):
    with serving(place(site)) as server:
        assert ask(server, "/")[2] == b"home"
        two = site / "releases" / "two"
        two.mkdir()
        (two / "index.html").write_text("second", encoding="utf-8")
        (site / "next").symlink_to("releases/two")
        (site / "next").rename(site / "current")
        assert ask(server, "/")[2] == b"second"
        assert ask(server, "/fences/")[0] == 404


def test_before_the_first_release_there_is_nothing(tmp_path):
    with serving(Place(folder=lambda: tmp_path / "current")) as server:
        assert ask(server, "/")[0] == 404


def test_a_refusal_is_shown_and_its_line_cannot_be_markup(site):
    def broken():
        raise InputProblem("bad-field", "the field summary breaks its rule", where="drafts/a/<b>/index.md:4:1")

    with serving(Place(folder=broken)) as server:
        status, headers, body = ask(server, "/")
    assert (status, headers["Content-Type"]) == (500, "text/plain; charset=utf-8")
    assert b"drafts/a/<b>/index.md:4:1" in body and headers["X-Content-Type-Options"] == "nosniff"


def test_a_site_below_a_path(site):
    below = {"prefix": "/blog/"}
    assert get(site, "/blog/", **below) == (200, "home")
    assert get(site, "/blog/fences/", **below) == (200, "fences")
    assert get(site, "/fences/", **below)[0] == 404
    assert get(site, "/blogfences/", **below)[0] == 404


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/", "text/html; charset=utf-8"), ("/assets/style.css", "text/css; charset=utf-8"), ("/fences/fence.svg", "image/svg+xml"),
     ("/feed.xml", "application/rss+xml; charset=utf-8"), ("/atom.xml", "application/atom+xml; charset=utf-8"),
     ("/sitemap.xml", "application/xml; charset=utf-8"), ("/.well-known/publisher.json", "application/json"),
     ("/plain", "application/octet-stream"), ("/none/", "text/html; charset=utf-8")],
)  # fmt: skip
def test_content_types(site, path, kind):
    with serving(place(site)) as server:
        assert ask(server, path)[1]["Content-Type"] == kind


def test_a_feed_is_known_by_its_root_element(tmp_path):
    assert content_type(tmp_path / "feed.xml", b"<feed xmlns=...>").startswith("application/atom+xml")
    assert content_type(tmp_path / "x.atom").startswith("application/atom+xml")


def test_head_has_the_headers_and_no_body(site):
    with serving(place(site)) as server:
        status, headers, body = ask(server, "/fences/", method="HEAD")
        assert (status, headers["Content-Length"], body) == (200, "6", b"")
        assert headers["Cache-Control"] == "no-cache"
        assert ask(server, "/none/", method="HEAD")[0] == 404


def test_other_methods_are_refused(site):
    with serving(place(site)) as server:
        assert ask(server, "/", method="POST")[0] == 501


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost:80", 200), ("127.0.0.1", 200), ("blog.test:9", 200), ("evil.example", 421), ("[::1", 421),
     ("127.0.0.1.evil.example", 421)],
)  # fmt: skip
def test_only_local_names_are_answered(site, host, status):
    with serving(place(site), names=["blog.test"]) as server:
        assert ask(server, "/", host=host)[0] == status


def test_it_listens_on_this_machine_alone(site):
    with serving(place(site)) as server:
        assert server.server_address[0] == "127.0.0.1"


def test_each_answer_is_told(site):
    heard = []
    with serving(place(site, say=heard.append)) as server:
        ask(server, "/fences/")
        ask(server, "/none/", method="HEAD")
    assert sorted(heard) == ["200 GET /fences/", "404 HEAD /none/"]  # each is told after it was given, by a thread of its own


def test_a_port_in_use_is_a_clear_refusal(site):
    with serving(place(site)) as server, pytest.raises(UsageProblem) as refused:
        LocalServer(place(site), server.server_port)
    assert refused.value.code == "port-taken"
    assert "in use" in refused.value.says and "--port" in refused.value.next


@pytest.mark.parametrize("port", [-1, 70000])
def test_a_number_that_is_no_port_is_a_clear_refusal(site, port):
    with pytest.raises(UsageProblem):
        LocalServer(place(site), port)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may use every port")
def test_a_port_that_is_not_allowed(site):
    with pytest.raises(UsageProblem):
        LocalServer(place(site), 1)
