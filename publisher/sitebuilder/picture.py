"""What the image formats share: the refusal."""

from __future__ import annotations


class BadPicture(Exception):
    """An image that cannot become public: a stable code and one sentence."""

    def __init__(self, code: str, says: str) -> None:
        super().__init__(code)
        self.code = code
        self.says = says
