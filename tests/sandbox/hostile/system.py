# stage: unsafe; without checks: runtime
import os

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    if os.system('true') == 0:
        raise RuntimeError("BREACH")
    os.execv('/bin/sh', ['sh', '-c', 'echo BREACH'])
