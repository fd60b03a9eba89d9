"""The tables of pg_catalog and information_schema, as far as clients ask for them.

A column that is not here is an error that names it. What Penstock has nothing of (indexes,
constraints, triggers, roles' rights) is a table without rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from penstock.server.pg.catalog.relations import Relation, SessionFacts, numbered
from penstock.server.pg.values import types
from penstock.server.pg.values.types import TYPES, PgType

Row = Mapping[str, object]

OWNER = 10
DATABASE = 1
SCHEMAS = {"pg_catalog": 11, "information_schema": 12, "public": 2200, "system": 2201}
SCHEMA_CATALOG, SCHEMA_INFORMATION = "pg_catalog", "information_schema"
UTF8 = 6

PG_CATALOG = {
    "pg_namespace": "oid oid, nspname name, nspowner oid, nspacl text",
    "pg_class": """oid oid, relname name, relnamespace oid, reltype oid, reloftype oid,
        relowner oid, relam oid, relfilenode oid, reltablespace oid, relpages int4,
        reltuples float4, relallvisible int4, reltoastrelid oid, relhasindex bool,
        relisshared bool, relpersistence char, relkind char, relnatts int2, relchecks int2,
        relhasrules bool, relhastriggers bool, relhassubclass bool, relrowsecurity bool,
        relforcerowsecurity bool, relispopulated bool, relreplident char, relispartition bool,
        relrewrite oid, relfrozenxid int8, relminmxid int8, relacl text, reloptions text,
        relpartbound text, relhasoids bool, xmin int8, tableoid oid""",
    "pg_attribute": """attrelid oid, attname name, atttypid oid, attstattarget int4, attlen int2,
        attnum int2, attndims int4, attcacheoff int4, atttypmod int4, attbyval bool,
        attstorage char, attalign char, attnotnull bool, atthasdef bool, atthasmissing bool,
        attidentity char, attgenerated char, attisdropped bool, attislocal bool,
        attinhcount int4, attcollation oid, attacl text, attoptions text, attfdwoptions text,
        attmissingval text, attcompression char""",
    "pg_type": """oid oid, typname name, typnamespace oid, typowner oid, typlen int2,
        typbyval bool, typtype char, typcategory char, typispreferred bool, typisdefined bool,
        typdelim char, typrelid oid, typelem oid, typarray oid, typinput regproc,
        typoutput regproc, typreceive regproc, typsend regproc, typmodin regproc,
        typmodout regproc, typanalyze regproc, typalign char, typstorage char, typnotnull bool,
        typbasetype oid, typtypmod int4, typndims int4, typcollation oid, typdefaultbin text,
        typdefault text, typacl text, typsubscript regproc""",
    "pg_database": """oid oid, datname name, datdba oid, encoding int4, datcollate name,
        datctype name, datistemplate bool, datallowconn bool, datconnlimit int4,
        datlastsysoid oid, datfrozenxid int8, datminmxid int8, dattablespace oid, datacl text,
        datlocprovider char, daticulocale text, datcollversion text""",
    "pg_roles": """oid oid, rolname name, rolsuper bool, rolinherit bool, rolcreaterole bool,
        rolcreatedb bool, rolcanlogin bool, rolreplication bool, rolbypassrls bool,
        rolconnlimit int4, rolpassword text, rolvaliduntil timestamptz, rolconfig text""",
    "pg_user": """usename name, usesysid oid, usecreatedb bool, usesuper bool, userepl bool,
        usebypassrls bool, passwd text, valuntil timestamptz, useconfig text""",
    "pg_settings": """name text, setting text, unit text, category text, short_desc text,
        extra_desc text, context text, vartype text, source text, min_val text, max_val text,
        enumvals text, boot_val text, reset_val text, sourcefile text, sourceline int4,
        pending_restart bool""",
    "pg_tables": """schemaname name, tablename name, tableowner name, tablespace name,
        hasindexes bool, hasrules bool, hastriggers bool, rowsecurity bool""",
    "pg_views": "schemaname name, viewname name, viewowner name, definition text",
    "pg_description": "objoid oid, classoid oid, objsubid int4, description text",
    "pg_am": "oid oid, amname name, amhandler regproc, amtype char",
    "pg_collation": """oid oid, collname name, collnamespace oid, collowner oid,
        collprovider char, collisdeterministic bool, collencoding int4, collcollate text,
        collctype text, colliculocale text, collversion text""",
    "pg_tablespace": "oid oid, spcname name, spcowner oid, spcacl text, spcoptions text",
    "pg_language": """oid oid, lanname name, lanowner oid, lanispl bool, lanpltrusted bool,
        lanplcallfoid oid, laninline oid, lanvalidator oid, lanacl text""",
    "pg_attrdef": "oid oid, adrelid oid, adnum int2, adbin text",
    "pg_index": """indexrelid oid, indrelid oid, indnatts int2, indnkeyatts int2,
        indisunique bool, indnullsnotdistinct bool, indisprimary bool, indisexclusion bool,
        indimmediate bool, indisclustered bool, indisvalid bool, indcheckxmin bool,
        indisready bool, indislive bool, indisreplident bool, indkey text, indcollation text,
        indclass text, indoption text, indexprs text, indpred text""",
    "pg_constraint": """oid oid, conname name, connamespace oid, contype char,
        condeferrable bool, condeferred bool, convalidated bool, conrelid oid, contypid oid,
        conindid oid, conparentid oid, confrelid oid, confupdtype char, confdeltype char,
        confmatchtype char, conislocal bool, coninhcount int4, connoinherit bool, conkey text,
        confkey text, conpfeqop text, conppeqop text, conffeqop text, conexclop text,
        conbin text, confdelsetcols text""",
    "pg_inherits": "inhrelid oid, inhparent oid, inhseqno int4, inhdetachpending bool",
    "pg_proc": """oid oid, proname name, pronamespace oid, proowner oid, prolang oid,
        procost float4, prorows float4, provariadic oid, prosupport regproc, prokind char,
        prosecdef bool, proleakproof bool, proisstrict bool, proretset bool, provolatile char,
        proparallel char, pronargs int2, pronargdefaults int2, prorettype oid, proargtypes text,
        proallargtypes text, proargmodes text, proargnames text, proargdefaults text,
        protrftypes text, prosrc text, probin text, prosqlbody text, proconfig text,
        proacl text""",
    "pg_enum": "oid oid, enumtypid oid, enumsortorder float4, enumlabel name",
    "pg_range": """rngtypid oid, rngsubtype oid, rngmultitypid oid, rngcollation oid,
        rngsubopc oid, rngcanonical regproc, rngsubdiff regproc""",
    "pg_trigger": """oid oid, tgrelid oid, tgparentid oid, tgname name, tgfoid oid,
        tgtype int2, tgenabled char, tgisinternal bool, tgconstrrelid oid, tgconstrindid oid,
        tgconstraint oid, tgdeferrable bool, tginitdeferred bool, tgnargs int2, tgattr text,
        tgargs bytea, tgqual text, tgoldtable name, tgnewtable name""",
    "pg_rewrite": """oid oid, rulename name, ev_class oid, ev_type char, ev_enabled char,
        is_instead bool, ev_qual text, ev_action text""",
    "pg_policy": """oid oid, polname name, polrelid oid, polcmd char, polpermissive bool,
        polroles text, polqual text, polwithcheck text""",
    "pg_statistic_ext": """oid oid, stxrelid oid, stxname name, stxnamespace oid, stxowner oid,
        stxstattarget int4, stxkeys text, stxkind text, stxexprs text""",
    "pg_publication": """oid oid, pubname name, pubowner oid, puballtables bool, pubinsert bool,
        pubupdate bool, pubdelete bool, pubtruncate bool, pubviaroot bool""",
    "pg_publication_rel": "oid oid, prpubid oid, prrelid oid, prqual text, prattrs text",
    "pg_publication_namespace": "oid oid, pnpubid oid, pnnspid oid",
    "pg_extension": """oid oid, extname name, extowner oid, extnamespace oid,
        extrelocatable bool, extversion text, extconfig text, extcondition text""",
    "pg_foreign_table": "ftrelid oid, ftserver oid, ftoptions text",
    "pg_foreign_server": """oid oid, srvname name, srvowner oid, srvfdw oid, srvtype text,
        srvversion text, srvacl text, srvoptions text""",
    "pg_foreign_data_wrapper": """oid oid, fdwname name, fdwowner oid, fdwhandler oid,
        fdwvalidator oid, fdwacl text, fdwoptions text""",
    "pg_sequence": """seqrelid oid, seqtypid oid, seqstart int8, seqincrement int8, seqmax int8,
        seqmin int8, seqcache int8, seqcycle bool""",
    "pg_matviews": """schemaname name, matviewname name, matviewowner name, tablespace name,
        hasindexes bool, ispopulated bool, definition text""",
    "pg_indexes": "schemaname name, tablename name, indexname name, tablespace name, indexdef text",
    "pg_keywords": "word text, catcode char, catdesc text",  # as pg_get_keywords() gives them
    "pg_shdescription": "objoid oid, classoid oid, description text",
    "pg_depend": """classid oid, objid oid, objsubid int4, refclassid oid, refobjid oid,
        refobjsubid int4, deptype char""",
    "pg_auth_members": "roleid oid, member oid, grantor oid, admin_option bool",
    "pg_operator": """oid oid, oprname name, oprnamespace oid, oprowner oid, oprkind char,
        oprcanmerge bool, oprcanhash bool, oprleft oid, oprright oid, oprresult oid, oprcom oid,
        oprnegate oid, oprcode regproc, oprrest regproc, oprjoin regproc""",
    "pg_aggregate": """aggfnoid regproc, aggkind char, aggnumdirectargs int2, aggtransfn regproc,
        aggfinalfn regproc""",
    "pg_cast": """oid oid, castsource oid, casttarget oid, castfunc oid, castcontext char,
        castmethod char""",
    "pg_opclass": """oid oid, opcmethod oid, opcname name, opcnamespace oid, opcowner oid,
        opcfamily oid, opcintype oid, opcdefault bool, opckeytype oid""",
    "pg_event_trigger": """oid oid, evtname name, evtevent name, evtowner oid, evtfoid oid,
        evtenabled char, evttags text""",
    "pg_partitioned_table": """partrelid oid, partstrat char, partnatts int2, partdefid oid,
        partattrs text, partclass text, partcollation text, partexprs text""",
    "pg_db_role_setting": "setdatabase oid, setrole oid, setconfig text",
    "pg_stat_activity": """datid oid, datname name, pid int4, leader_pid int4, usesysid oid,
        usename name, application_name text, client_addr text, client_hostname text,
        client_port int4, backend_start timestamptz, xact_start timestamptz,
        query_start timestamptz, state_change timestamptz, wait_event_type text,
        wait_event text, state text, backend_xid int8, backend_xmin int8, query_id int8,
        query text, backend_type text""",
    "pg_locks": """locktype text, database oid, relation oid, page int4, tuple int2,
        virtualxid text, transactionid int8, classid oid, objid oid, objsubid int2,
        virtualtransaction text, pid int4, mode text, granted bool, fastpath bool""",
    "pg_stat_user_tables": """relid oid, schemaname name, relname name, seq_scan int8,
        seq_tup_read int8, idx_scan int8, idx_tup_fetch int8, n_tup_ins int8, n_live_tup int8,
        n_dead_tup int8""",
}
INFORMATION_SCHEMA = {
    "schemata": """catalog_name name, schema_name name, schema_owner name,
        default_character_set_catalog name, default_character_set_schema name,
        default_character_set_name name, sql_path text""",
    "tables": """table_catalog name, table_schema name, table_name name, table_type text,
        self_referencing_column_name name, reference_generation text,
        user_defined_type_catalog name, user_defined_type_schema name,
        user_defined_type_name name, is_insertable_into text, is_typed text,
        commit_action text""",
    "views": """table_catalog name, table_schema name, table_name name, view_definition text,
        check_option text, is_updatable text, is_insertable_into text,
        is_trigger_updatable text, is_trigger_deletable text,
        is_trigger_insertable_into text""",
    "columns": """table_catalog name, table_schema name, table_name name, column_name name,
        ordinal_position int4, column_default text, is_nullable text, data_type text,
        character_maximum_length int4, character_octet_length int4, numeric_precision int4,
        numeric_precision_radix int4, numeric_scale int4, datetime_precision int4,
        interval_type text, interval_precision int4, character_set_name name,
        collation_name name, domain_name name, udt_catalog name, udt_schema name, udt_name name,
        dtd_identifier name, is_self_referencing text, is_identity text,
        identity_generation text, is_generated text, generation_expression text,
        is_updatable text""",
    "table_constraints": """constraint_catalog name, constraint_schema name,
        constraint_name name, table_catalog name, table_schema name, table_name name,
        constraint_type text, is_deferrable text, initially_deferred text, enforced text""",
    "key_column_usage": """constraint_catalog name, constraint_schema name,
        constraint_name name, table_catalog name, table_schema name, table_name name,
        column_name name, ordinal_position int4, position_in_unique_constraint int4""",
    "referential_constraints": """constraint_catalog name, constraint_schema name,
        constraint_name name, unique_constraint_catalog name, unique_constraint_schema name,
        unique_constraint_name name, match_option text, update_rule text, delete_rule text""",
    "constraint_column_usage": """table_catalog name, table_schema name, table_name name,
        column_name name, constraint_catalog name, constraint_schema name,
        constraint_name name""",
    "routines": """specific_catalog name, specific_schema name, specific_name name,
        routine_catalog name, routine_schema name, routine_name name, routine_type text,
        data_type text, routine_definition text""",
    "triggers": """trigger_catalog name, trigger_schema name, trigger_name name,
        event_manipulation text, event_object_schema name, event_object_table name""",
    "sequences": """sequence_catalog name, sequence_schema name, sequence_name name,
        data_type text, start_value text, minimum_value text, maximum_value text,
        increment text, cycle_option text""",
}
TABLES = {SCHEMA_CATALOG: PG_CATALOG, SCHEMA_INFORMATION: INFORMATION_SCHEMA}
NAMED = {each.name: each for each in TYPES.values()}


def columns_of(written: str) -> dict[str, PgType]:
    """Return the columns of a table as it is written above."""
    pairs = (each.split() for each in written.split(","))
    return {name: NAMED[type_] for name, type_ in pairs}


@dataclass(frozen=True, slots=True)
class Contents:
    """The rows of the tables that have any."""

    relations: tuple[Relation, ...]
    facts: SessionFacts

    def rows(self) -> Iterator[tuple[str, str, Row]]:
        """Yield each row with its schema and table; what it does not name is NULL."""
        for table, row in self._catalog():
            yield SCHEMA_CATALOG, table, row
        for table, row in self._information():
            yield SCHEMA_INFORMATION, table, row

    def _catalog(self) -> Iterator[tuple[str, Row]]:
        yield from self._server()
        for type_ in TYPES.values():
            yield "pg_type", _type_row(type_)
        for number, relation in numbered(self.relations):
            yield "pg_class", _class_row(number, relation)
            yield "pg_description", _description(number, relation.kind)
            for position, column in enumerate(relation.columns, 1):
                yield (
                    "pg_attribute",
                    {
                        **ATTRIBUTE,
                        "attrelid": number,
                        "attname": column.name,
                        "atttypid": column.type.oid,
                        "attlen": column.type.size,
                        "attnum": position,
                        "attndims": int(column.type.element is not None),
                        "atttypmod": column.modifier,
                    },
                )
            yield self._listed(relation)

    def _server(self) -> Iterator[tuple[str, Row]]:
        for schema, number in SCHEMAS.items():
            yield "pg_namespace", {"oid": number, "nspname": schema, "nspowner": OWNER}
        yield "pg_database", {**DATABASE_ROW, "datname": self.facts.database}
        yield "pg_roles", {**ROLE, "rolname": self.facts.user}
        yield "pg_user", {**USER, "usename": self.facts.user}
        yield "pg_tablespace", {"oid": 1663, "spcname": "pg_default", "spcowner": OWNER}
        yield "pg_am", {"oid": 2, "amname": "heap", "amhandler": 3, "amtype": "t"}
        yield "pg_collation", {**COLLATION}
        for word in OWN_WORDS:
            yield "pg_keywords", {"word": word, "catcode": "U", "catdesc": "unreserved"}
        for name, value in self.facts.parameters:
            yield "pg_settings", {"name": name, "setting": value, **SETTING}

    def _listed(self, relation: Relation) -> tuple[str, Row]:
        owner = self.facts.user
        if relation.letter == "v":
            return "pg_views", {
                "schemaname": relation.schema,
                "viewname": relation.name,
                "viewowner": owner,
                "definition": relation.definition,
            }
        flags = dict.fromkeys(("hasindexes", "hasrules", "hastriggers", "rowsecurity"), 0)
        row = {"schemaname": relation.schema, "tablename": relation.name, "tableowner": owner}
        return "pg_tables", {**row, **flags}

    def _information(self) -> Iterator[tuple[str, Row]]:
        database = self.facts.database
        for schema in SCHEMAS:
            row = {"catalog_name": database, "schema_name": schema}
            yield "schemata", {**row, "schema_owner": self.facts.user}
        for relation in self.relations:
            named = {
                "table_catalog": database,
                "table_schema": relation.schema,
                "table_name": relation.name,
            }
            is_view = relation.letter == "v"
            kind = "VIEW" if is_view else "BASE TABLE"
            yield "tables", {**named, **TABLE, "table_type": kind}
            if is_view:
                yield "views", {**named, **VIEW, "view_definition": relation.definition}
            for position, column in enumerate(relation.columns, 1):
                yield (
                    "columns",
                    {
                        **named,
                        **COLUMN,
                        "column_name": column.name,
                        "ordinal_position": position,
                        "data_type": "ARRAY" if column.type.element else column.type.sql,
                        "udt_catalog": database,
                        "udt_name": column.type.name,
                        "dtd_identifier": str(position),
                        **_precision(column.type, column.modifier),
                    },
                )


OWN_WORDS = ("slack", "slide", "stream", "subscribe")  # of Penstock's, beside those of SQL
ATTRIBUTE = {
    **dict.fromkeys(("attbyval", "attnotnull", "atthasdef", "atthasmissing", "attisdropped"), 0),
    **dict.fromkeys(("attinhcount", "attcollation"), 0),
    **dict.fromkeys(("attidentity", "attgenerated", "attcompression"), ""),
    **dict.fromkeys(("attstattarget", "attcacheoff"), -1),
    "attislocal": 1,
    "attstorage": "p",
    "attalign": "i",
}
DATABASE_ROW = {
    "oid": DATABASE,
    "datdba": OWNER,
    "encoding": UTF8,
    "datcollate": "C.UTF-8",
    "datctype": "C.UTF-8",
    "datistemplate": 0,
    "datallowconn": 1,
    "datconnlimit": -1,
    "dattablespace": 1663,
    "datlocprovider": "c",
}
RIGHTS = dict.fromkeys(("rolsuper", "rolcreaterole", "rolcreatedb", "rolreplication"), 0)
ROLE = {
    **RIGHTS,
    "oid": OWNER,
    "rolinherit": 1,
    "rolcanlogin": 1,
    "rolbypassrls": 0,
    "rolconnlimit": -1,
}
USER = {
    "usesysid": OWNER,
    **dict.fromkeys(("usecreatedb", "usesuper", "userepl", "usebypassrls"), 0),
}
COLLATION = {
    "oid": 100,
    "collname": "default",
    "collnamespace": SCHEMAS["pg_catalog"],
    "collowner": OWNER,
    "collprovider": "d",
    "collisdeterministic": 1,
    "collencoding": -1,
}
SETTING = {
    "category": "Penstock",
    "context": "user",
    "vartype": "string",
    "source": "default",
    "pending_restart": 0,
}
TABLE = {"is_insertable_into": "NO", "is_typed": "NO"}
VIEW = {"check_option": "NONE", "is_updatable": "NO", "is_insertable_into": "NO"}
COLUMN = {
    "is_nullable": "YES",
    "udt_schema": "pg_catalog",
    "is_self_referencing": "NO",
    "is_identity": "NO",
    "is_generated": "NEVER",
    "is_updatable": "NO",
}
CLASS = {
    **dict.fromkeys(("reloftype", "relam", "relfilenode", "reltablespace", "relpages"), 0),
    **dict.fromkeys(("relallvisible", "reltoastrelid", "relhasindex", "relisshared"), 0),
    **dict.fromkeys(("relchecks", "relhasrules", "relhastriggers", "relhassubclass"), 0),
    **dict.fromkeys(("relrowsecurity", "relforcerowsecurity", "relispartition"), 0),
    **dict.fromkeys(("relrewrite", "relfrozenxid", "relminmxid", "relhasoids", "reltype"), 0),
    "relowner": OWNER,
    "reltuples": -1.0,
    "relpersistence": "p",
    "relispopulated": 1,
    "relreplident": "n",
    "xmin": 1,
    "tableoid": 1259,
}
BITS = {types.INT2: 16, types.INT4: 32, types.INT8: 64, types.FLOAT4: 24, types.FLOAT8: 53}
TIMED = (types.TIME, types.TIMESTAMP, types.TIMESTAMPTZ, types.INTERVAL)
MICROSECONDS = 6  # digits of a second that times have


def _class_row(number: int, relation: Relation) -> Row:
    return {
        **CLASS,
        "oid": number,
        "relname": relation.name,
        "relnamespace": SCHEMAS[relation.schema],
        "relkind": relation.letter,
        "relnatts": len(relation.columns),
    }


def _type_row(type_: PgType) -> Row:
    array = next((each.oid for each in TYPES.values() if each.element is type_), 0)
    return {
        **dict.fromkeys(("typrelid", "typbasetype", "typndims", "typcollation"), 0),
        **dict.fromkeys(("typbyval", "typispreferred", "typnotnull"), 0),
        **dict.fromkeys(("typinput", "typoutput", "typreceive", "typsend"), 0),
        "oid": type_.oid,
        "typname": type_.name,
        "typnamespace": SCHEMAS["pg_catalog"],
        "typowner": OWNER,
        "typlen": type_.size,
        "typtype": "p" if type_ is types.UNKNOWN else "b",
        "typcategory": type_.category,
        "typisdefined": 1,
        "typdelim": ",",
        "typelem": type_.element.oid if type_.element else 0,
        "typarray": array,
        "typalign": "i",
        "typstorage": "p",
        "typtypmod": -1,
    }


def _description(number: int, kind: str) -> Row:
    return {"objoid": number, "classoid": 1259, "objsubid": 0, "description": kind}


def _precision(type_: PgType, modifier: int) -> Row:
    if type_ in BITS:
        scale = 0 if type_.name.startswith("int") else None
        return {
            "numeric_precision": BITS[type_],
            "numeric_precision_radix": 2,
            "numeric_scale": scale,
        }
    if type_ is types.NUMERIC and modifier >= 0:
        number = modifier - types.NUMERIC_HEADER
        digits = {"numeric_precision": number >> 16, "numeric_scale": number & 0xFFFF}
        return {**digits, "numeric_precision_radix": 10}
    return {"datetime_precision": MICROSECONDS} if type_ in TIMED else {}


def always_empty() -> frozenset[str]:
    """Return the tables that never have rows, by name."""
    facts = SessionFacts("u", "d", 1, "v", (("p", "v"),))
    kinds = (Relation("public", "r", "stream", ()), Relation("public", "v", "query", ()))
    shown = tuple(_with_a_column(each) for each in kinds)
    filled = {table for _, table, _ in Contents(shown, facts).rows()}
    return frozenset(name for tables in TABLES.values() for name in tables) - filled


def _with_a_column(relation: Relation) -> Relation:
    column = types.Column("c", types.TEXT)
    return Relation(relation.schema, relation.name, relation.kind, (column,))


def insertions(rows: Sequence[tuple[str, str, Row]]) -> Iterator[tuple[str, tuple[object, ...]]]:
    """Yield the statement that inserts each row, and its values."""
    for schema, table, row in rows:
        names = ", ".join(f'"{name}"' for name in row)
        places = ", ".join("?" * len(row))
        yield f"INSERT INTO {schema}.{table} ({names}) VALUES ({places})", tuple(row.values())
