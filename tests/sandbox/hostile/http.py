# stage: unsafe; without checks: runtime
import urllib.request

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    urllib.request.urlopen('http://127.0.0.1:@PORT@/').read()
    raise RuntimeError("BREACH")
