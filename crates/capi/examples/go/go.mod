module sinterfs.example/list

go 1.19
