"""What an article's HTML costs, by output version: processor time for the same texts, side by side.

python bench/rendering.py [--articles 300] [--rounds 3]
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable

from publisher.sitebuilder import article_html, markdown
from publisher.sitebuilder.references import Source
from publisher.sitebuilder.rendered import Address

LINE = "leaf moss stone river lantern quiet border harvest winter signal carry follow under between never always often plain"
WORDS = LINE.split()
CODE = {
    "python": "def total(items: list[int]) -> int:\n    return sum(item for item in items if item)\n",
    "bash": 'for file in *.md; do\n  wc -w "$file"\ndone\n',
    "json": '{"name": "fence", "items": [1, 2, 3]}\n',
}


def text_of(number: int) -> str:
    """About 600 words, the same for a number on every machine: headings, links, lists, a third with code, a tenth with a table."""
    chance = random.Random(number)

    def sentence() -> str:
        words = [chance.choice(WORDS) for _ in range(chance.randrange(8, 18))]
        words[chance.randrange(len(words))] = chance.choice(
            ["**strong**", "*soft*", "`code`", "[out](https://e.example/)", "plain"]
        )
        return " ".join(words).capitalize() + "."

    parts = []
    for part in range(6):
        parts.append(f"## Part {part} {chance.choice(WORDS)}")
        parts += [" ".join(sentence() for _ in range(4)) for _ in range(2)]
        parts.append("\n".join(f"- {sentence()}" for _ in range(3)))
    if number % 3 == 0:
        name = chance.choice(sorted(CODE))
        parts.append(f"```{name}\n{CODE[name]}# {number}\n```")
    if number % 10 == 0:
        parts.append("| a | b |\n|---|--:|\n" + "\n".join(f"| {chance.choice(WORDS)} | {row} |" for row in range(5)))
    return "\n\n".join(parts) + "[^1]\n\n[^1]: A note.\n"


def cost(render: Callable[..., object], texts: list[str]) -> float:
    """Seconds of processor time for each text."""
    source, address = Source(path="index.md"), Address(root="", page="/x/")
    before = time.process_time()
    for text in texts:
        render(text, {}, source=source, address=address)
    return (time.process_time() - before) / len(texts)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--articles", type=int, default=300)
    asked.add_argument("--rounds", type=int, default=3)
    options = asked.parse_args()
    texts = [text_of(number) for number in range(options.articles)]
    renderers = {"version 1": markdown.render, "version 2": article_html.render}
    for render in renderers.values():
        cost(render, texts)  # imports, and code that was highlighted once
    found = {name: statistics.median(cost(render, texts) for _ in range(options.rounds)) for name, render in renderers.items()}
    for name, seconds in found.items():
        print(f"{name}: {seconds * 1e6:6.0f} µs an article, {seconds / found['version 1']:.2f} of version 1")


if __name__ == "__main__":
    main()
