"""How a unit changes its processor while all runs, and comes back when one dies: pure.

Runs are numbered and recorded before they are sent, and a run gives the same output whoever does
it. So a unit's place in the world is its last save and the number of its next run:

    coordinator                     old processor       new processor
      Release ------------------------>
                                    does what it has begun, saves
      <----------------------- Released, next run n
      one record: the unit is there, in epoch e + 1, from run n
      Adopt -------------------------------------------->  loads the save
      Forget -------------------------->
      <--------------------------------------------- Adopted
      Run n, n + 1, … ---------------------------------->

Whatever feeds the unit goes on meanwhile: its runs are recorded and wait. Nothing waits for a
message that may be lost: `remind` says everything again, and everything may be heard twice.
"""

from penstock.place.relocation.coordinator import Coordinator
from penstock.place.relocation.processor import ProcessorSide

__all__ = ["Coordinator", "ProcessorSide"]
