# stage: unsafe; without checks: runtime
import pathlib

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    print('BREACH', pathlib.Path('@CANARY@').read_text())
    return unvisited_nodes[0]
