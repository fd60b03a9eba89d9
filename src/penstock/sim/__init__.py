"""The simulator: the very same strategies on a virtual clock, with declared costs."""

from penstock.sim.machine import Machine
from penstock.sim.outcome import Outcome
from penstock.sim.simulation import simulate
from penstock.sim.workloads.arrivals import Arrival
from penstock.sim.workloads.workload import Workload

__all__ = ["Arrival", "Machine", "Outcome", "Workload", "simulate"]
