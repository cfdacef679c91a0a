"""Tests of the fault scripts' own parts: a judge that errs would be worse than none."""
