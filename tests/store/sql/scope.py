"""Which tables a statement reads or changes without restricting them to a channel or an account.

A row of a table is *given* if the caller named its channel or account, or it was found by one that was:

- a column that holds an owner (`channel_id`, …), or all columns of a unique key, equal values that are given;
- parameters, constants, and the rows of subqueries, CTEs and functions are given: what these read is checked itself.

So a statement has to do with the accounts that are named, and with no other. Whether the caller may see a row that is
found by a unique key alone is another question, which the tests of each resource answer.

A comparison counts if every row has to fulfil it: inside of AND, in each branch of OR, and in the condition of an outer
join only for the table that is joined.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from pglast import ast as nodes
from pglast import parse_sql
from pglast.enums import A_Expr_Kind, BoolExprType, BoolTestType, JoinType, SubLinkType

ast: Any = nodes  # by its types, every part of a node may be missing
OWNER_COLUMNS = {"account_id", "channel_id", "user_id", "key_id"}
Given: TypeAlias = Callable[[Any], bool]
_EQUAL_KINDS = {A_Expr_Kind.AEXPR_OP, A_Expr_Kind.AEXPR_OP_ANY, A_Expr_Kind.AEXPR_IN, A_Expr_Kind.AEXPR_NOT_DISTINCT}
_QUERIES = (ast.SelectStmt, ast.InsertStmt, ast.UpdateStmt, ast.DeleteStmt, ast.MergeStmt)


class Table(NamedTuple):
    """A table: its columns, its unique keys (columns, or expressions as in their indexes), and whether its rows have
    an owner: an account, or a channel."""

    columns: frozenset[str]
    keys: tuple[frozenset[str], ...]
    owned: bool


class Fact(NamedTuple):
    """A column of a relation equals one of these expressions."""

    relation: str
    key: str
    values: tuple[Any, ...]


class _Relation:
    """A relation in FROM, by its alias: a table, or something that is given as soon as what it uses is."""

    def __init__(self, name: str, table: Table | None, node: Any, columns: frozenset[str] | None = None) -> None:
        self.name = name
        self.table = table
        self.node = node
        self.columns = columns if table is None else table.columns
        self.given = False


_Scope: TypeAlias = dict[str, _Relation]  # by alias
_Scopes: TypeAlias = tuple[_Scope, ...]  # the innermost first


def unscoped_tables(sql: str, tables: Mapping[str, Table]) -> set[str]:
    """Return the tables with an owner that a text reads or writes for all owners."""
    found: set[str] = set()
    for statement in parse_sql(sql):
        found |= _Check(tables).statement(statement.stmt)
    return found


class _Check:
    """The check of one statement."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        self._tables = tables
        self._found: set[str] = set()

    def statement(self, node: Any) -> set[str]:
        if isinstance(node, _QUERIES):
            self._query(node, {}, ())
        elif isinstance(node, ast.CopyStmt) and node.query is not None:
            self._query(node.query, {}, ())
        elif isinstance(node, ast.CopyStmt | ast.TruncateStmt | ast.LockStmt):
            self._found |= {one.relname for one in _walk(node, into_queries=True) if isinstance(one, ast.RangeVar)}
        return {name for name in self._found if name in self._tables and self._tables[name].owned}

    def _query(self, node: Any, ctes: Mapping[str, Any], outer: _Scopes) -> None:
        ctes = self._with(node, ctes, outer)
        if isinstance(node, ast.MergeStmt):
            self._found |= {one.relname for one in _walk(node, into_queries=True) if isinstance(one, ast.RangeVar)}
            return  # its conditions are not read: each table has to be listed
        if isinstance(node, ast.SelectStmt) and node.larg is not None:
            self._query(node.larg, ctes, outer)
            self._query(node.rarg, ctes, outer)
        scope: _Scope = {}
        facts: list[Fact] = []
        for item in _from(node):
            facts += self._relation(item, scope, ctes)
        scopes = (scope, *outer)
        if isinstance(node, ast.InsertStmt):
            self._insert(node, scope)
        else:
            facts += _facts(node.whereClause, scopes) if node.whereClause is not None else []
        _settle(scopes, facts)
        self._found |= {
            one.name for one in scope.values() if one.table is not None and one.table.owned and not one.given
        }
        for part, lateral in _queries_in(node):
            self._query(part, ctes, scopes if lateral else outer)

    def _with(self, node: Any, ctes: Mapping[str, Any], outer: _Scopes) -> Mapping[str, Any]:
        if node.withClause is None:
            return ctes
        known = dict(ctes)
        for cte in node.withClause.ctes:
            if node.withClause.recursive:
                known[cte.ctename] = None
            self._query(cte.ctequery, known, outer)
            known[cte.ctename] = _columns_of(cte.ctequery, cte.aliascolnames)
        return known

    def _insert(self, node: Any, scope: _Scope) -> None:
        """New rows name their owner, as one of their columns. A conflict is with a row of the same key."""
        (target,) = scope.values()
        named = {column.name for column in node.cols or ()}
        table = target.table
        target.given = table is not None and (
            bool(named & OWNER_COLUMNS & table.columns) or any(key <= named for key in table.keys)
        )

    def _relation(self, node: Any, scope: _Scope, ctes: Mapping[str, Any]) -> list[Fact]:
        """Add the relations of a part of FROM, and return what its joins say about them."""
        if isinstance(node, ast.JoinExpr):
            return self._join(node, scope, ctes)
        alias = node.alias.aliasname if node.alias is not None else getattr(node, "relname", f"?{len(scope)}")
        renamed = frozenset(_names(node.alias.colnames)) if node.alias is not None and node.alias.colnames else None
        if not isinstance(node, ast.RangeVar):
            query = node.subquery if isinstance(node, ast.RangeSubselect) else None
            scope[alias] = _Relation(alias, None, node, renamed or (_columns_of(query, None) if query else None))
        elif node.relname in ctes and node.schemaname is None:
            scope[alias] = _Relation(alias, None, None, renamed or ctes[node.relname])
        else:
            unknown = Table(frozenset(), (), False)  # of the catalog: its rows are of all accounts
            scope[alias] = _Relation(node.relname, self._tables.get(node.relname, unknown), node)
        return []

    def _join(self, node: Any, scope: _Scope, ctes: Mapping[str, Any]) -> list[Fact]:
        sides: list[_Scope] = [{}, {}]
        facts: list[Fact] = []
        for side, part in zip(sides, (node.larg, node.rarg), strict=True):
            facts += self._relation(part, side, ctes)
            scope.update(side)
        known = {
            JoinType.JOIN_INNER: {**sides[0], **sides[1]},
            JoinType.JOIN_LEFT: sides[1],
            JoinType.JOIN_RIGHT: sides[0],
        }.get(node.jointype, {})
        if node.quals is not None:
            facts += [fact for fact in _facts(node.quals, (scope,)) if fact.relation in known]
        return facts


# -- what is given ----------------------------------------------------------------------------------------------------


def _settle(scopes: _Scopes, facts: Sequence[Fact]) -> None:
    """Mark the relations of the innermost scope that are given, until no other one follows."""

    def given(expression: Any) -> bool:
        return all(one is None or one.given for one in _used(expression, scopes))

    changed = True
    while changed:
        changed = False
        for alias, relation in scopes[0].items():
            if not relation.given and _is_given(alias, relation, facts, given):
                relation.given = changed = True


def _is_given(alias: str, relation: _Relation, facts: Sequence[Fact], given: Given) -> bool:
    table = relation.table
    if table is None:
        return not getattr(relation.node, "lateral", True) or given(relation.node)
    named = {fact.key for fact in facts if fact.relation == alias and all(map(given, fact.values))}
    owner = table.owned and bool(named & OWNER_COLUMNS)
    return owner or any(key <= named for key in table.keys)


def _used(expression: Any, scopes: _Scopes) -> Iterator[_Relation | None]:
    """Yield the relations of these scopes whose columns an expression uses, also inside of subqueries.

    In subqueries, a name without a table is taken as one of the subquery.
    """
    nodes = list(_walk_with_depth(expression))
    own = {alias for node, inside in nodes if inside for alias in _alias(node)}
    for node, inside in nodes:
        if isinstance(node, ast.ColumnRef):
            names = _names(node.fields)
            if not inside or (len(names) > 1 and names[-2] not in own):
                yield _resolve(names, scopes)


def _resolve(names: Sequence[str], scopes: _Scopes) -> _Relation | None:
    """Return the relation of a column; None if it is one of a subquery inside of the expression."""
    for scope in scopes:
        if len(names) > 1:
            if names[-2] in scope:
                return scope[names[-2]]
            continue
        if names and names[0] in scope:
            return scope[names[0]]  # the whole row, or the only column of a function
        having = [one for one in scope.values() if one.columns is not None and names and names[0] in one.columns]
        vague = [one for one in scope.values() if one.columns is None]
        if having or vague:
            return (having or vague)[0]
    return None


# -- what a condition says --------------------------------------------------------------------------------------------


def _facts(node: Any, scopes: _Scopes) -> list[Fact]:
    """Return the equalities that hold for every row that fulfils a condition."""
    if isinstance(node, ast.BoolExpr) and node.boolop == BoolExprType.AND_EXPR:
        return [fact for part in node.args for fact in _facts(part, scopes)] + _ranges(node.args, scopes)
    if isinstance(node, ast.BoolExpr) and node.boolop == BoolExprType.OR_EXPR:
        return _in_all([_facts(part, scopes) for part in node.args])
    if isinstance(node, ast.BooleanTest) and node.booltesttype == BoolTestType.IS_TRUE:
        return _facts(node.arg, scopes)
    if isinstance(node, ast.A_Expr) and node.kind in _EQUAL_KINDS and _operator(node) == "=":
        return _equal(node.lexpr, node.rexpr, scopes)
    if isinstance(node, ast.SubLink) and node.subLinkType == SubLinkType.ANY_SUBLINK and not node.operName:
        return [fact for one in _row(node.testexpr) for fact in _one_sided(one, node.subselect, scopes)]
    return []


def _equal(left: Any, right: Any, scopes: _Scopes) -> list[Fact]:
    if isinstance(left, ast.RowExpr) and isinstance(right, ast.RowExpr):
        pairs = zip(left.args, right.args, strict=True)
        return [fact for one, other in pairs for fact in _equal(one, other, scopes)]
    lefts = [fact for one in _row(left) for fact in _one_sided(one, right, scopes)]
    return lefts + ([] if isinstance(right, tuple) else _one_sided(right, left, scopes))


def _one_sided(column: Any, value: Any, scopes: _Scopes) -> list[Fact]:
    wrapper = "{}"
    if isinstance(column, ast.FuncCall) and column.args and len(column.args) == 1:
        wrapper = f"{_names(column.funcname)[-1]}({{}})"
        column = column.args[0]
    if not isinstance(column, ast.ColumnRef):
        return []
    names = _names(column.fields)
    relation = _resolve(names, scopes)
    for alias, one in scopes[0].items():
        if one is relation:
            return [Fact(alias, wrapper.format(names[-1]), (value,))]
    return []


def _ranges(parts: Sequence[Any], scopes: _Scopes) -> list[Fact]:
    """Return the equalities of ranges such as (a, id) >= ($1, $2) AND (a, id) < ($1, $3): a is $1."""
    ends: dict[str, dict[tuple[str, str], list[Fact]]] = {">": {}, "<": {}}
    for part in parts:
        if isinstance(part, ast.A_Expr) and isinstance(part.lexpr, ast.RowExpr) and isinstance(part.rexpr, ast.RowExpr):
            for fact in _one_sided(part.lexpr.args[0], part.rexpr.args[0], scopes):
                end = ends.get(_operator(part)[:1])
                if end is not None:
                    end[f"{fact.relation}.{fact.key}", repr(part.rexpr.args[0])] = [fact]
    return [fact for both in ends[">"].keys() & ends["<"].keys() for fact in ends[">"][both]]


def _in_all(branches: Sequence[list[Fact]]) -> list[Fact]:
    """Return the columns that every branch compares, with the values of all of them."""
    common = set.intersection(*({(fact.relation, fact.key) for fact in branch} for branch in branches))
    found = []
    for relation, key in sorted(common):
        first = [next(f for f in branch if (f.relation, f.key) == (relation, key)) for branch in branches]
        found.append(Fact(relation, key, tuple(value for fact in first for value in fact.values)))
    return found


# -- the tree ---------------------------------------------------------------------------------------------------------


def _from(node: Any) -> list[Any]:
    """Return the parts of FROM, with the table that a statement changes."""
    if isinstance(node, ast.SelectStmt):
        return list(node.fromClause or ())
    more = {ast.UpdateStmt: "fromClause", ast.DeleteStmt: "usingClause"}.get(type(node))
    return [node.relation, *((getattr(node, more) or ()) if more else ())]


def _queries_in(node: Any) -> Iterator[tuple[Any, bool]]:
    """Yield the queries directly inside of one, each with whether it sees the relations beside it."""
    for slot in node.__slots__:
        if slot not in ("withClause", "larg", "rarg"):
            for part in _walk(getattr(node, slot, None), into_queries=False):
                if isinstance(part, ast.SubLink):
                    yield part.subselect, True
                elif isinstance(part, ast.RangeSubselect):
                    yield part.subquery, bool(part.lateral)
                elif isinstance(part, _QUERIES) and slot == "selectStmt":
                    yield part, False


def _columns_of(query: Any, renamed: Any) -> frozenset[str] | None:
    """Return the names of a query's columns; None if they are not all known."""
    if renamed:
        return frozenset(_names(renamed))
    while isinstance(query, ast.SelectStmt) and query.larg is not None:
        query = query.larg
    targets = query.targetList if isinstance(query, ast.SelectStmt) else getattr(query, "returningList", None)
    names = set()
    for target in targets or ():
        name = target.name
        if name is None and isinstance(target.val, ast.ColumnRef):
            name = [*_names(target.val.fields), None][-2] if not _is_star(target.val) else None
        if name is None:
            return None
        names.add(name)
    return frozenset(names)


def _walk(node: Any, *, into_queries: bool) -> Iterator[Any]:
    """Yield a node and those below it; those below a query only if asked."""
    if isinstance(node, tuple | list):
        for one in node:
            yield from _walk(one, into_queries=into_queries)
    elif isinstance(node, ast.Node):
        yield node
        query = isinstance(node, (*_QUERIES, ast.RangeSubselect))
        for slot in node.__slots__ if into_queries or not query else ():
            if not (slot == "subselect" and not into_queries):
                yield from _walk(getattr(node, slot, None), into_queries=into_queries)


def _walk_with_depth(node: Any, inside: bool = False) -> Iterator[tuple[Any, bool]]:
    if isinstance(node, tuple | list):
        for one in node:
            yield from _walk_with_depth(one, inside)
    elif isinstance(node, ast.Node):
        yield node, inside
        for slot in node.__slots__:
            yield from _walk_with_depth(getattr(node, slot, None), inside or isinstance(node, _QUERIES))


def _row(node: Any) -> Sequence[Any]:
    return node.args if isinstance(node, ast.RowExpr) else (node,)


def _operator(node: Any) -> str:
    return str(node.name[-1].sval)


def _alias(node: Any) -> Iterator[str]:
    """Yield the name by which columns of a part of FROM are used."""
    if isinstance(node, ast.RangeVar | ast.RangeSubselect | ast.RangeFunction):
        name = node.alias.aliasname if node.alias is not None else getattr(node, "relname", None)
        if name is not None:
            yield name


def _names(fields: Any) -> list[str]:
    return [one.sval for one in fields or () if isinstance(one, ast.String)]


def _is_star(column: Any) -> bool:
    return isinstance(column.fields[-1], ast.A_Star)
