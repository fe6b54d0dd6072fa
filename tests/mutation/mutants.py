"""Mutants of a source: copies with one small change each, which a good test notices."""

import ast
import random
from collections.abc import Iterator
from typing import NamedTuple

# What an operator, or a function of two numbers, becomes.
OPERATORS = {
    ast.Lt: ("<=", ">="),
    ast.LtE: ("<", ">"),
    ast.Gt: (">=", "<="),
    ast.GtE: (">", "<"),
    ast.Eq: ("!=",),
    ast.NotEq: ("==",),
    ast.Is: ("is not",),
    ast.IsNot: ("is",),
    ast.In: ("not in",),
    ast.NotIn: ("in",),
    ast.Add: ("-",),
    ast.Sub: ("+",),
    ast.Mult: ("/",),
    ast.Div: ("*",),
    ast.FloorDiv: ("*",),
    ast.Mod: ("*",),
    ast.Pow: ("*",),
    ast.BitAnd: ("|",),
    ast.BitOr: ("&",),
    ast.BitXor: ("|",),
    ast.LShift: (">>",),
    ast.RShift: ("<<",),
}
FUNCTIONS = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all", "all": "any"}
TINY = 1e-6  # smaller constants are tolerances, which are changed by more than a factor of two
OF_TEXTS = ("InputError", "ScenarioError", "WriteError", "ValueError", "TypeError")  # calls that only make messages


class Mutant(NamedTuple):
    """A source with one change. The first four fields identify it, whatever the number of its line."""

    file: str
    function: str  # around the change, empty at the top of the file
    was: str  # the changed lines, blanks reduced
    becomes: str
    line: int
    source: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}\n    - {self.was}\n    + {self.becomes}"


def mutants(source: str, file: str) -> list[Mutant]:
    """All mutants of a source, in the order of their places."""
    data = source.encode()  # columns of nodes count bytes
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found: dict[str, Mutant] = {}
    for node, function in places(ast.parse(source)):
        for first, last, text in changes(node, source):
            begin = starts[first[0] - 1] + first[1]
            end = starts[last[0] - 1] + last[1]
            mutated = (data[:begin] + text.encode() + data[end:]).decode()
            low, high = starts[first[0] - 1], starts[last[0]]
            was = " ".join(data[low:high].decode().split())
            becomes = " ".join((data[low:begin] + text.encode() + data[end:high]).decode().split())
            if mutated not in found and becomes != was and parses(mutated):
                found[mutated] = Mutant(file, function, was, becomes, first[0], mutated)
    return sorted(found.values(), key=lambda mutant: mutant.line)


def sample(all_of_them: list[Mutant], count: int, seed: int) -> list[Mutant]:
    """`count` of them, or all, chosen at random; a larger sample of the same seed contains a smaller one."""
    order = list(all_of_them)
    random.Random(f"{seed} {order[0].file if order else ''}").shuffle(order)
    return order[:count]


def parses(source: str) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


def places(tree: ast.AST, function: str = "") -> Iterator[tuple[ast.AST, str]]:
    """The nodes that may be changed, with the function that each is in. Texts, annotations, decorators, assertions and what
    only type checkers see stay as they are."""
    for name, field in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "type_comment", "msg"):
            continue
        for node in field if isinstance(field, list) else [field]:
            if not isinstance(node, ast.AST) or isinstance(node, ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom):
                continue
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                continue
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in OF_TEXTS:
                continue
            if isinstance(node, ast.Subscript) and isinstance(tree, ast.arg | ast.AnnAssign):
                continue
            inner = node.name if isinstance(node, ast.FunctionDef | ast.ClassDef) else function
            yield node, inner
            yield from places(node, inner)


Change = tuple[tuple[int, int], tuple[int, int], str]  # first and last place (line, column), and what comes between


def changes(node: ast.AST, source: str) -> Iterator[Change]:
    """What may be written in place of a node, or of a part of it."""

    def text(part: ast.AST) -> str:
        return ast.get_source_segment(source, part) or ast.unparse(part)

    def instead(part: ast.AST, new: str) -> Change:
        return (part.lineno, part.col_offset), (part.end_lineno, part.end_col_offset), new

    def instead_of_both(left: ast.AST, right: ast.AST, new: str) -> Change:
        return (left.lineno, left.col_offset), (right.end_lineno, right.end_col_offset), new

    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            for other in OPERATORS[type(operator)]:
                yield instead(node, f"({text(left)} {other} {text(right)})")
        case ast.Compare(ops=operators, comparators=sides):  # a < b < c
            every = [node.left, *sides]
            for k, operator in enumerate(operators):
                for other in OPERATORS[type(operator)]:
                    signs = [symbol(each) for each in operators]
                    signs[k] = other
                    parts = [text(every[0])] + [f"{sign} {text(side)}" for sign, side in zip(signs, sides, strict=True)]
                    yield instead(node, f"({' '.join(parts)})")
        case ast.BinOp(left=left, op=operator, right=right) if not is_text(left) and not is_text(right):
            for other in OPERATORS.get(type(operator), ()):
                yield instead(node, f"(({text(left)}) {other} ({text(right)}))")
            if isinstance(operator, ast.Add | ast.Sub | ast.Mult | ast.Div):
                yield instead(node, f"({text(left)})")
            if isinstance(operator, ast.Add | ast.Mult):
                yield instead(node, f"({text(right)})")
        case ast.AugAssign(target=target, op=operator, value=value):
            for other in OPERATORS.get(type(operator), ()):
                yield instead(node, f"{text(target)} {other}= {text(value)}")
            yield instead(node, "pass")
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]) | ast.Delete():
            yield instead(node, "pass")
        case ast.Expr(value=ast.Call()):
            yield instead(node, "pass")
        case ast.Raise():
            yield instead(node, "pass")
        case ast.Break():
            yield instead(node, "continue")
        case ast.Continue():
            yield instead(node, "pass")
        case ast.BoolOp(op=operator, values=values):
            sign, other = ("and", "or") if isinstance(operator, ast.And) else ("or", "and")
            parts = [f"({text(value)})" for value in values]
            yield instead(node, f"({f' {other} '.join(parts)})")
            for k in range(len(parts)):
                yield instead(node, f"({f' {sign} '.join(parts[:k] + parts[k + 1 :])})")
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield instead(node, f"({text(operand)})")
        case ast.Call(func=function, args=arguments):
            name = ast.unparse(function)
            start, _, last = name.rpartition(".")
            if last in FUNCTIONS:
                yield instead(function, f"{start}.{FUNCTIONS[last]}" if start else FUNCTIONS[last])
            elif len(arguments) >= 2 and not any(isinstance(each, ast.Starred) for each in arguments[:2]):
                first, second = arguments[:2]
                yield instead_of_both(first, second, f"{text(second)}, {text(first)}")
            if last == "abs":
                yield instead(node, f"({text(arguments[0])})")
        case ast.Constant(value=bool(value)):
            yield instead(node, str(not value))
        case ast.Constant(value=int(value)):
            yield instead(node, str(value + 1))
            yield instead(node, str(value - 1))
        case ast.Constant(value=float(value)) if value == 0:
            yield instead(node, "1.0")
        case ast.Constant(value=float(value)) if value < TINY:
            yield instead(node, repr(value * 1000))
            yield instead(node, "0.0")
        case ast.Constant(value=float(value)):
            yield instead(node, repr(value * 2))
            yield instead(node, "0.0")
            if value == 1.0:
                yield instead(node, "-1.0")
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        yield instead(node.test, "False")
        if not isinstance(node.test, ast.Compare | ast.UnaryOp):  # these have their own opposites
            yield instead(node.test, f"(not ({text(node.test)}))")


def symbol(operator: ast.cmpop) -> str:
    """The operator as it is written."""
    return ast.unparse(ast.Compare(ast.Name("a"), [operator], [ast.Name("b")]))[1:-1].strip()


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
