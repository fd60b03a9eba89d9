"""Statements that change something; while quiesced."""

from dataclasses import dataclass

from penstock.clock import Clock
from penstock.plan.operators import key
from penstock.plan.select.punctuation import bind_punctuation
from penstock.runtime.definitions.definition_binder import DefinitionBinder
from penstock.runtime.definitions.definitions import Definitions
from penstock.runtime.definitions.function_definitions import FunctionDefinitions
from penstock.runtime.definitions.rules import Rules
from penstock.runtime.durable.journal import Journal
from penstock.runtime.loop.graph_cutter import GraphCutter
from penstock.runtime.queries.query_lifecycle import QueryLifecycle
from penstock.runtime.statements.settings import set_decider
from penstock.sql import (
    AlterQuery,
    AlterRule,
    CreateBase,
    CreateEvent,
    CreateFunction,
    CreatePerspective,
    CreateQuery,
    CreateRule,
    CreateStream,
    CreateTable,
    CreateType,
    Drop,
    Punctuate,
    ResumeQuery,
    RetryRule,
    SetDecider,
    StopQuery,
)

Change = (
    CreateStream
    | CreateTable
    | CreateType
    | CreateFunction
    | CreateQuery
    | CreateEvent
    | CreateRule
    | CreateBase
    | CreatePerspective
    | AlterRule
    | AlterQuery
    | RetryRule
    | Drop
    | StopQuery
    | ResumeQuery
    | Punctuate
    | SetDecider
)


@dataclass(frozen=True, slots=True)
class Punctuation:
    """PUNCTUATE: streams that say what comes no more."""

    binder: DefinitionBinder
    cutter: GraphCutter
    journal: Journal
    clock: Clock

    def punctuate(self, statement: Punctuate) -> str:
        """Record that no more tuples of a stream fulfil a condition."""
        known = self.binder.directory.stream(statement.stream)
        condition = bind_punctuation(known.scan, statement.condition, self.binder.analyst)
        source_reader = self.cutter.topology.source_readers[key(known.scan)]
        if not source_reader.punctuate(condition, self.journal, self.clock.now()):
            return f"stream {statement.stream} has ended"
        return f"no more tuples of {statement.stream} with {condition}"


@dataclass(frozen=True, slots=True)
class Changes:
    """Hands each statement to who carries it out."""

    definitions: Definitions
    functions: FunctionDefinitions
    lifecycle: QueryLifecycle
    rules: Rules
    punctuation: Punctuation
    cutter: GraphCutter

    def carry_out(self, statement: Change) -> str:
        """Carry out one statement; return what was done."""
        match statement:
            case CreateType():
                return self.definitions.create_type(statement)
            case CreateFunction():
                return self.functions.create(statement)
            case (
                CreateStream()
                | CreateTable()
                | CreateQuery()
                | CreateEvent()
                | CreateRule()
                | CreateBase()
                | CreatePerspective()
            ):
                return self.definitions.create(statement)
            case Drop(kind="FUNCTION", name=name, if_exists=if_exists):
                return self.functions.drop(name, if_exists=if_exists)
            case Drop():
                return self.definitions.drop(statement)
            case AlterRule(name=name, enabled=enabled):
                return self.rules.set_enabled(name, enabled=enabled)
            case RetryRule(name=name):
                return self.rules.retry(name)
            case AlterQuery(name=name, terms=terms):
                return self.lifecycle.alter(name, terms)
            case StopQuery(name=name):
                return self.lifecycle.stop(name)
            case ResumeQuery(name=name):
                return self.lifecycle.resume(name)
            case Punctuate():
                return self.punctuation.punctuate(statement)
            case SetDecider():
                return set_decider(self.cutter, statement)
