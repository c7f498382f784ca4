"""How much a reader must hold at once, by room.

    python tools/readability.py             prints the figures of each room
    python tools/readability.py runs        lists the places of one room that are counted
    python tools/readability.py --record    writes them to tests/readability.json, where they are
                                            better: `tests/test_architecture.py` keeps them so


A line of code counts if it has a token that is neither comment nor docstring. Complexity is that of
McCabe with every operand of `and` and `or` and every comprehension counted as a branch, as radon
counts it.
"""

from __future__ import annotations

import ast
import json
import math
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parents[1] / "claimeval"
RECORD = Path(__file__).parents[1] / "tests" / "readability.json"

_LAYOUT = frozenset(
    {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENCODING,
        tokenize.ENDMARKER,
    }
)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BRANCHES = (
    ast.If,
    ast.IfExp,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.ExceptHandler,
    ast.Assert,
    ast.Lambda,
    ast.comprehension,
    ast.match_case,
)


class Readability(NamedTuple):
    """The figures of one room."""

    room: str
    code_lines: int
    tokens: int
    functions: int
    above_10: int
    """Functions whose complexity is above 10."""
    above_20: int
    highest: int
    packed: int
    """Assignments of several values to several names."""
    heavy: int
    """Comprehensions with two `for`, or with several `if`."""
    nested: int
    """Conditional expressions inside one another."""
    comments: int
    """Comments of one line or several, and at ends of lines, without those for linters."""
    fragments: int
    """Private functions of five lines or fewer that are named at one place beside their own."""

    @property
    def tokens_a_line(self) -> float:
        """Mean number of tokens of a line of code."""
        return self.tokens / self.code_lines if self.code_lines else 0.0


def measure(room: str, files: list[Path], named: Counter[str]) -> Readability:
    """Return the figures of the files of a room, where the package has names so often."""
    tokens = 0
    code_lines = 0
    complexities: list[int] = []
    packed = 0
    heavy = 0
    nested = 0
    comments = 0
    fragments = 0
    for path in files:
        with path.open("rb") as file:
            in_file = [*tokenize.tokenize(file.readline)]
        comments += _comments(in_file)
        tokens_here, lines_here = _density(in_file)
        tokens += tokens_here
        code_lines += lines_here
        tree = ast.parse(path.read_text(encoding="utf-8"))
        complexities += [complexity(function) for function in _functions(tree)]
        for node in ast.walk(tree):
            fragments += _is_fragment(node, named)
            packed += _is_packed(node)
            heavy += _is_heavy(node)
            nested += _is_nested(node)
    return Readability(
        room=room,
        code_lines=code_lines,
        tokens=tokens,
        functions=len(complexities),
        above_10=sum(found > 10 for found in complexities),
        above_20=sum(found > 20 for found in complexities),
        highest=max(complexities, default=0),
        packed=packed,
        heavy=heavy,
        nested=nested,
        comments=comments,
        fragments=fragments,
    )


def rooms(package: Path = PACKAGE) -> list[Readability]:
    """Return the figures of each room of a package, and of the files beside the rooms."""
    by_room: dict[str, list[Path]] = {}
    named = Counter[str]()
    for path in sorted(package.rglob("*.py")):
        named.update(re.findall(r"[A-Za-z_]\w+", path.read_text(encoding="utf-8")))
        parts = path.relative_to(package).parts
        by_room.setdefault(parts[0] if len(parts) > 1 else "", []).append(path)
    return [measure(room, files, named) for room, files in sorted(by_room.items())]


def complexity(function: ast.AST) -> int:
    """Return the number of branches of a function plus one; functions inside it count by
    themselves."""
    count = 1
    for node in _own(function):
        if isinstance(node, ast.BoolOp):
            count += len(node.values) - 1
        elif isinstance(node, _BRANCHES):
            count += 1
        if isinstance(node, ast.comprehension):
            count += len(node.ifs)
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While, ast.Try)):
            count += bool(node.orelse)
    return count


def _own(function: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function without those of functions and classes inside it."""
    waiting = list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop()
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            continue
        yield node
        waiting.extend(ast.iter_child_nodes(node))


def _functions(tree: ast.Module) -> Iterator[ast.AST]:
    return (node for node in ast.walk(tree) if isinstance(node, _FUNCTIONS))


def _is_fragment(node: ast.AST, named: Counter[str]) -> bool:
    if not isinstance(node, _FUNCTIONS) or not node.name.startswith("_"):
        return False
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    return lines <= 5 and not node.name.startswith("__") and named[node.name] == 2


def _is_packed(node: ast.AST) -> bool:
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Tuple):
        return False
    return isinstance(node.targets[0], ast.Tuple) and len(node.value.elts) > 1


def _is_heavy(node: ast.AST) -> bool:
    if not isinstance(node, _COMPREHENSIONS):
        return False
    conditions = sum(len(generator.ifs) for generator in node.generators)
    return len(node.generators) > 1 or conditions > 1


def _is_nested(node: ast.AST) -> bool:
    if not isinstance(node, ast.IfExp):
        return False
    return any(isinstance(part, ast.IfExp) for part in (node.test, node.body, node.orelse))


def _density(found: Sequence[tokenize.TokenInfo]) -> tuple[int, int]:
    """Return the number of tokens of a file, and of the lines that they are on."""
    tokens = 0
    lines: set[int] = set()
    begins = True
    for token in found:
        if token.type in _LAYOUT:
            begins = begins or token.type != tokenize.COMMENT
            continue
        is_docstring = begins and token.type == tokenize.STRING and '"""' in token.string[:4]
        begins = False
        if is_docstring:
            continue
        tokens += 1
        lines.update(range(token.start[0], token.end[0] + 1))
    return tokens, len(lines)


_OF_LINTERS = ("noqa", "type: ignore", "pragma")


def _comments(found: Sequence[tokenize.TokenInfo]) -> int:
    """Return the number of comments of a file; one that goes on over several lines is one."""
    count = 0
    last = -1
    for token in found:
        if token.type != tokenize.COMMENT or any(word in token.string for word in _OF_LINTERS):
            continue
        alone = token.line.lstrip().startswith("#")
        count += not (alone and token.start[0] == last + 1)
        last = token.start[0] if alone else -1
    return count


def places(room: str, package: Path = PACKAGE) -> Iterator[str]:
    """Yield the functions of a room above 10, and what is packed, heavy, nested or a fragment."""
    files = sorted(package.rglob("*.py"))
    named = Counter(
        name
        for path in files
        for name in re.findall(r"[A-Za-z_]\w+", path.read_text(encoding="utf-8"))
    )
    for path in files:
        within = path.relative_to(package)
        if room != (within.parts[0] if len(within.parts) > 1 else ""):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            kinds = {
                "fragment": _is_fragment(node, named),
                "packed": _is_packed(node),
                "heavy": _is_heavy(node),
                "nested": _is_nested(node),
            }
            found = [kind for kind, is_one in kinds.items() if is_one]
            if isinstance(node, _FUNCTIONS) and complexity(node) > 10:
                found.append(f"complexity {complexity(node)}")
            if found and isinstance(node, (ast.stmt, ast.expr)):
                what = node.name if isinstance(node, _FUNCTIONS) else ""
                yield f"{within}:{node.lineno}: {', '.join(found)} {what}".rstrip()


def held(row: Readability) -> dict[str, float]:
    """Return the figures of a room that may not get worse; means are rounded up, so that a line
    more is no failure."""
    return {
        "tokens a line": math.ceil(10 * row.tokens_a_line) / 10,
        "above 10 in a thousand": math.ceil(1000 * row.above_10 / (row.functions or 1)),
        "above 20": row.above_20,
        "highest": row.highest,
        "packed": row.packed,
        "heavy": row.heavy,
        "nested": row.nested,
        "fragments": row.fragments,
    }


def record(rows: list[Readability]) -> None:
    """Write the figures that are better than those recorded, and those of new rooms."""
    before = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    now = {
        row.room: {
            name: min(value, before.get(row.room, {}).get(name, value))
            for name, value in held(row).items()
        }
        for row in rows
    }
    RECORD.write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Print a row for each room, and the whole; or record them, or list the places of one."""
    match sys.argv[1:]:
        case ["--record"]:
            record(rooms())
        case [room]:
            print("\n".join(places(room)))
        case _:
            show(rooms())


def show(found: list[Readability]) -> None:
    """Print a row for each room, and the whole."""
    print(
        f"{'room':14}{'lines':>7}{'tokens a line':>15}{'above 10':>10}{'above 20':>10}"
        f"{'highest':>9}{'packed':>8}{'heavy':>7}{'nested':>8}{'comments':>10}{'fragments':>11}"
    )
    for row in found:
        print(
            f"{row.room or '-':14}{row.code_lines:7}{row.tokens_a_line:15.2f}{row.above_10:10}"
            f"{row.above_20:10}{row.highest:9}{row.packed:8}{row.heavy:7}{row.nested:8}"
            f"{row.comments:10}{row.fragments:11}"
        )
    lines = sum(row.code_lines for row in found)
    functions = sum(row.functions for row in found)
    above_10 = sum(row.above_10 for row in found)
    print(
        f"{lines} lines, {sum(row.tokens for row in found) / lines:.2f} tokens a line;"
        f" {functions} functions, {1000 * above_10 / functions:.0f} in a thousand above 10,"
        f" {sum(row.above_20 for row in found)} above 20; a comment in"
        f" {lines / sum(row.comments for row in found):.0f} lines of code;"
        f" {sum(row.fragments for row in found)} small private functions used once"
    )


if __name__ == "__main__":
    main()
