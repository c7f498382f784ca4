"""How far judges agree with people and with each other: labels joined to claims, and what the comparison comes to."""

from __future__ import annotations

from claimeval.agreement.joining import Joined, join
from claimeval.agreement.measuring import AgreementReport, Number, PairReport, RaterReport, measure
from claimeval.agreement.weighing import weights

__all__ = ["AgreementReport", "Joined", "Number", "PairReport", "RaterReport", "join", "measure", "weights"]
