"""Engine: Casbin's decisions, exact and near constant in the number of rules, over any model and its rules.

The model is read strictly, an index finds the rules that can match, the matcher is compiled once, and what the compiler does not understand
pycasbin itself evaluates. Knows no session and no policy folder; nothing in it changes after it is built. Comes after problems and before
casbin_rules.
"""
