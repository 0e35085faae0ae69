# stage: unsafe; without checks: runtime
import _thread

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    while True:
        _thread.start_new_thread(print, ('BREACH',))
