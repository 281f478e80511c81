"""Which statements every run of a script reaches: outside branches, loops and handlers, in functions called from there."""

import ast
from collections.abc import Iterable, Iterator

__all__ = ["reached", "uncalled_lines"]

_BATCH = "forEachBatch"
_EXITS = {"exit", "quit", "sys.exit", "os._exit"}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def reached(tree: ast.Module) -> set[int]:
    """Return the ids (of :func:`id`) of the nodes that every run reaches.

    A function that is passed to ``forEachBatch`` counts as called, because a stream without records is of no use.
    """
    functions = {node.name: node for node in tree.body if isinstance(node, _FUNCTIONS)}
    nodes: set[int] = set()
    waiting: list[Iterable[ast.stmt]] = [tree.body]
    called: set[str] = set()
    while waiting:
        for node in _straight(waiting.pop()):
            nodes.add(id(node))
            for name in _called(node):
                if name in functions and name not in called:
                    called.add(name)
                    waiting.append(functions[name].body)
    return nodes


def uncalled_lines(tree: ast.Module) -> set[int]:
    """Return the lines of the functions of a module that nothing in it names, but functions that are not called either.

    Functions with a decorator count as called, and so does one that is named in any way, such as in a list of functions.
    """
    functions = {node.name: node for node in tree.body if isinstance(node, _FUNCTIONS) and not node.decorator_list}
    named = {name: _names(node) for name, node in functions.items()}
    waiting = {name for node in tree.body if node not in functions.values() for name in _names(node)}
    called: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in functions and name not in called:
            called.add(name)
            waiting |= named[name]
    dead = [node for name, node in functions.items() if name not in called]
    return {line for node in dead for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}


def _names(node: ast.AST) -> set[str]:
    names = set()
    for item in ast.walk(node):
        if isinstance(item, ast.Name):
            names.add(item.id)
        elif isinstance(item, ast.Attribute):
            names.add(item.attr)
        elif isinstance(item, ast.Constant) and isinstance(item.value, str):
            names.add(item.value)
    return names


def _straight(body: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    """Yield the nodes of statements that are carried out one after the other, until one that may leave."""
    for statement in body:
        yield from _nodes(statement)
        if _may_leave(statement):
            return


def _nodes(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield the nodes of a statement that are evaluated whenever it is."""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.While() | ast.Match():
            return
        case ast.If():
            yield from _whole(statement.test)
            if _is_main(statement.test) or _has_rows(statement.test):
                yield from _straight(statement.body)
        case ast.With() | ast.AsyncWith():
            for manager in statement.items:
                yield from _whole(manager.context_expr)
            yield from _straight(statement.body)
        case ast.For() | ast.AsyncFor():
            yield from _whole(statement.iter)
        case ast.Try():
            # What raises in it may be caught; without handlers nothing is.
            if not statement.handlers:
                yield from _straight(statement.body)
            yield from _straight(statement.finalbody)
        case _:
            yield from _whole(statement)


def _may_leave(statement: ast.stmt) -> bool:
    """Return whether what follows may not be reached."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return False
    return any(
        isinstance(node, (ast.Return, ast.Raise)) or (isinstance(node, ast.Call) and ast.unparse(node.func) in _EXITS)
        for node in ast.walk(statement)
    )


def _whole(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node with all that it always evaluates."""
    yield node
    if isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return
    children: Iterable[ast.AST] = ast.iter_child_nodes(node)
    if isinstance(node, ast.IfExp):
        children = [node.test]
    elif isinstance(node, ast.BoolOp):
        children = node.values[:1]
    for child in children:
        yield from _whole(child)


def _called(node: ast.AST) -> Iterator[str]:
    if not isinstance(node, ast.Call):
        return
    if isinstance(node.func, ast.Name):
        yield node.func.id
    if isinstance(node.func, ast.Attribute) and node.func.attr == _BATCH:
        passed = [*node.args, *(keyword.value for keyword in node.keywords)]
        yield from (argument.id for argument in passed if isinstance(argument, ast.Name))


def _is_main(test: ast.expr) -> bool:
    return ast.unparse(test) in {"__name__ == '__main__'", "'__main__' == __name__"}


def _has_rows(test: ast.expr) -> bool:
    """Return whether a condition is that a batch has rows, as in the scripts that Glue Studio writes."""
    match test:
        case ast.Compare(ast.Call(ast.Attribute(attr="count")), [ast.Gt() | ast.NotEq(), *_], [ast.Constant(value=0), *_]):
            return True
    return False
