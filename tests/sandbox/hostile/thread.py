# stage: unsafe; without checks: runtime
import threading


def spin():
    while True:
        pass

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    thread = threading.Thread(target=spin)
    thread.start()
    print('BREACH')
    return unvisited_nodes[0]
