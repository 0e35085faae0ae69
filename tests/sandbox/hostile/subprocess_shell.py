# stage: unsafe; without checks: runtime
import subprocess

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    print(subprocess.run('echo BREACH', shell=True, capture_output=True).stdout)
    return unvisited_nodes[0]
