# stage: compile

Here is the heuristic you asked for:
