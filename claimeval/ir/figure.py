"""A drawing of lines, boxes and words, written as SVG or PNG."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Literal

from claimeval.types.errors import UsageError

Anchor = Literal["start", "middle", "end"]
_FONT = 13
_PNG_SCALE = 2


@dataclass
class Figure:
    """Shapes in the order they are painted; x grows to the right, y downwards, in points."""

    width: float
    height: float
    lines: list[tuple[list[tuple[float, float]], str, float]] = field(default_factory=list)
    """Points, colour, width."""
    boxes: list[tuple[float, float, float, float, str]] = field(default_factory=list)
    """Left, top, right, bottom, colour."""
    words: list[tuple[float, float, str, Anchor]] = field(default_factory=list)
    """Place of the base line, text, and which end of the text stands there."""

    def save(self, target: Path) -> None:
        """Write the figure; the name's ending, ``.svg`` or ``.png``, says in which format."""
        ending = target.suffix.lower()
        if ending == ".svg":
            target.write_text(self.svg(), encoding="utf-8")
        elif ending == ".png":
            self._save_png(target)
        else:
            raise UsageError(f"a picture is written as .svg or .png, not as {target.name!r}")

    def svg(self) -> str:
        """The figure as an SVG document."""
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width:g}" height="{self.height:g}" '
            f'viewBox="0 0 {self.width:g} {self.height:g}" font-family="sans-serif" font-size="{_FONT}">',
            f'<rect width="{self.width:g}" height="{self.height:g}" fill="white"/>',
        ]
        parts += [
            f'<rect x="{left:.2f}" y="{top:.2f}" width="{right - left:.2f}" height="{bottom - top:.2f}" '
            f'fill="{colour}"/>'
            for left, top, right, bottom, colour in self.boxes
        ]
        parts += [
            f'<polyline points="{" ".join(f"{x:.2f},{y:.2f}" for x, y in points)}" fill="none" '
            f'stroke="{colour}" stroke-width="{width:g}"/>'
            for points, colour, width in self.lines
        ]
        parts += [
            f'<text x="{x:.2f}" y="{y:.2f}" text-anchor="{anchor}">{escape(text)}</text>'
            for x, y, text, anchor in self.words
        ]
        return "\n".join([*parts, "</svg>", ""])

    def _save_png(self, target: Path) -> None:
        try:
            image_module, draw_module, font_module = (
                importlib.import_module(f"PIL.{name}") for name in ("Image", "ImageDraw", "ImageFont")
            )
        except ImportError:
            raise UsageError(
                f"{target.name}: PNG pictures need Pillow (pip install 'pillow>=10.1'); .svg needs nothing"
            ) from None
        scale = _PNG_SCALE
        image = image_module.new("RGB", (round(self.width * scale), round(self.height * scale)), "white")
        draw = draw_module.Draw(image)
        font = font_module.load_default(_FONT * scale)
        for left, top, right, bottom, colour in self.boxes:
            draw.rectangle([left * scale, top * scale, right * scale, bottom * scale], fill=colour)
        for points, colour, width in self.lines:
            draw.line([(x * scale, y * scale) for x, y in points], colour, round(width * scale), joint="curve")
        for x, y, text, anchor in self.words:
            side = {"start": "l", "middle": "m", "end": "r"}[anchor]
            draw.text((x * scale, y * scale), text, fill="black", font=font, anchor=f"{side}s")
        image.save(target)
