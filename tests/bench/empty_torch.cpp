// What linking libtorch costs a process that does nothing: the baseline of bench_cli.
int main()
{
    return 0;
}
