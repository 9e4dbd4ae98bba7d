"""The roles of the embedded database. The gateway's is not a superuser; that of linked devices has only their schema.

gatepost           superuser; creates the roles and transfers ownership, at each start of the server
gatepost_gateway   owns the database and the schema public; a member of gatepost_qr; may replicate if there are cells
gatepost_qr        owns the schema qr_devices
"""

from typing import TYPE_CHECKING

from gatepost.store.embedded.conf import DEVICE_ROLE, GATEWAY_ROLE, ROLES, SUPERUSER

if TYPE_CHECKING:
    from asyncpg import Record
    from asyncpg.connection import Connection

DEVICE_SCHEMA = "qr_devices"
_ONE_AT_A_TIME = int.from_bytes(b"gp_roles", "big")

# The objects that have the wrong owner, which happens only in databases of older versions: those that the superuser
# owns, and tables of linked devices that the gateway owns. A column's sequence changes owner with its table.
_TO_HAND_OVER = """
SELECT format('ALTER TABLE %I.%I OWNER TO %I', n.nspname, c.relname, wanted.role)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN (VALUES ('public', $1), ('qr_devices', $2)) AS wanted (schema, role) ON wanted.schema = n.nspname
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'S')
  AND (c.relowner = $3::text::regrole OR (c.relowner = $1::text::regrole AND wanted.role <> $1))
  AND NOT (c.relkind = 'S' AND EXISTS (
      SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype IN ('a', 'i')))
UNION ALL
SELECT format('ALTER ROUTINE %s OWNER TO %I', p.oid::regprocedure, wanted.role)
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
JOIN (VALUES ('public', $1), ('qr_devices', $2)) AS wanted (schema, role) ON wanted.schema = n.nspname
WHERE p.proowner = $3::text::regrole
UNION ALL
SELECT format('ALTER TYPE %s OWNER TO %I', t.oid::regtype, wanted.role)
FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
JOIN (VALUES ('public', $1), ('qr_devices', $2)) AS wanted (schema, role) ON wanted.schema = n.nspname
WHERE t.typowner = $3::text::regrole AND t.typtype IN ('e', 'd')
"""


async def settle_roles(conn: "Connection[Record]") -> None:
    """Create missing roles, and transfer the objects that they do not own yet, in one transaction."""
    async with conn.transaction():
        await conn.execute("SELECT pg_advisory_xact_lock($1)", _ONE_AT_A_TIME)
        await _make_roles(conn)
        await _hand_over_database(conn)
        for row in await conn.fetch(_TO_HAND_OVER, GATEWAY_ROLE, DEVICE_ROLE, SUPERUSER):
            await conn.execute(row[0])


async def _make_roles(conn: "Connection[Record]") -> None:
    found = {row[0] for row in await conn.fetch("SELECT rolname FROM pg_roles WHERE rolname = ANY ($1)", ROLES)}
    for role in ROLES:
        if role not in found:
            await conn.execute(f"CREATE ROLE {role} LOGIN")
    await _settle_replication(conn)
    await _limit_devices(conn)
    if not await conn.fetchval("SELECT pg_has_role($1, $2, 'USAGE')", GATEWAY_ROLE, DEVICE_ROLE):
        await conn.execute(f"GRANT {DEVICE_ROLE} TO {GATEWAY_ROLE}")


async def _settle_replication(conn: "Connection[Record]") -> None:
    """Let the gateway replicate if there are cells, and only then: the server runs with wal_level = logical."""
    wanted = await conn.fetchval("SHOW wal_level") == "logical"
    has = await conn.fetchval("SELECT rolreplication FROM pg_roles WHERE rolname = $1", GATEWAY_ROLE)
    if wanted != has:
        await conn.execute(f"ALTER ROLE {GATEWAY_ROLE} {'' if wanted else 'NO'}REPLICATION")


async def _limit_devices(conn: "Connection[Record]") -> None:
    """Leave half of the connections to the gateway: links take several each while their network cannot be reached."""
    most = int(await conn.fetchval("SHOW max_connections")) // 2
    if await conn.fetchval("SELECT rolconnlimit FROM pg_roles WHERE rolname = $1", DEVICE_ROLE) != most:
        await conn.execute(f"ALTER ROLE {DEVICE_ROLE} CONNECTION LIMIT {most}")


async def _hand_over_database(conn: "Connection[Record]") -> None:
    """Transfer the database, and with it the schema public; then create or transfer the schema of linked devices."""
    owner = await conn.fetchval("SELECT datdba::regrole::text FROM pg_database WHERE datname = current_database()")
    if owner != GATEWAY_ROLE:
        name = await conn.fetchval("SELECT quote_ident(current_database())")
        await conn.execute(f"ALTER DATABASE {name} OWNER TO {GATEWAY_ROLE}")
    holder = await conn.fetchval("SELECT nspowner::regrole::text FROM pg_namespace WHERE nspname = $1", DEVICE_SCHEMA)
    if holder is None:
        await conn.execute(f"CREATE SCHEMA {DEVICE_SCHEMA} AUTHORIZATION {DEVICE_ROLE}")
    elif holder != DEVICE_ROLE:
        await conn.execute(f"ALTER SCHEMA {DEVICE_SCHEMA} OWNER TO {DEVICE_ROLE}")
