"""Origins and addresses: what counts as the same site, and what as the public internet."""

from __future__ import annotations

import ipaddress

import pytest

from publisher.verify.addresses import Origin, is_loopback_host, is_public


@pytest.mark.parametrize(
    "address",
    [
        "93.184.216.34",
        "8.8.8.8",
        "2606:2800:220:1:248:1893:25c8:1946",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
        "2002:808:808::1",
    ],
)
def test_public_addresses(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",
        "10.1.2.3",
        "100.64.0.1",
        "127.0.0.1",
        "127.8.8.8",
        "169.254.169.254",
        "172.16.0.1",
        "192.168.0.1",
        "192.0.2.1",
        "198.18.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "fc00::1",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "2001:db8::1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::1",
        "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    ],
)
def test_addresses_that_are_never_asked_for_a_public_site(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    ("url", "authority"),
    [
        ("https://Site.Example/a?b#c", "site.example"),
        ("https://site.example:443/", "site.example"),
        ("https://site.example:8443/", "site.example:8443"),
        ("http://site.example:443", "site.example:443"),
        ("http://[::1]:80/", "[::1]"),
        ("http://[::1]:8080/", "[::1]:8080"),
    ],
)
def test_the_host_header_of_an_origin(url: str, authority: str) -> None:
    origin = Origin.of(url)
    assert origin is not None
    assert origin.authority == authority


def test_an_origin_is_scheme_host_and_port() -> None:
    assert Origin.of("https://site.example/a") == Origin.of("https://SITE.example:443/b")
    others = ["http://site.example/", "https://site.example:444/", "https://www.site.example/", "https://site.example./"]
    assert all(Origin.of(other) != Origin.of("https://site.example/") for other in others)


@pytest.mark.parametrize(
    "url",
    ["https://a:b@site.example/", "https://site.example:0/", "https://[fe80::1%25eth0]/", "https://a b/", "https://x\\y/", "/"],
)
def test_urls_without_a_usable_origin(url: str) -> None:
    assert Origin.of(url) is None


@pytest.mark.parametrize(("host", "local"), [("localhost", True), ("127.0.0.1", True), ("::1", True), ("127.1", False),
                                             ("localhost.example", False), ("10.0.0.1", False)])  # fmt: skip
def test_hosts_on_this_machine(host: str, local: bool) -> None:
    assert is_loopback_host(host) is local
