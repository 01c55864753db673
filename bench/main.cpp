// Where does the program start?
#include "bench/cli.hpp"

int main(int argc, char** argv) { return shardmark::command_line(argc, argv); }
