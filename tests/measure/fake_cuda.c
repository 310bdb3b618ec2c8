/* A library that stands in for NVIDIA's driver, libcuda.so.1, with one board. It reads the PTX that it is given and
 * works it out, thread after thread, so that what a kernel computes is seen without a board. An instruction that it
 * does not know, an operand of another type than the instruction takes, a register that is not declared: INVALID_PTX. A
 * number outside of what was allocated: ILLEGAL_ADDRESS. FAKE_CUDA: "none": no board; "wrong": kernels add up wrongly;
 * else what it is called. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_PTX = 218, NOT_FOUND = 500, ILLEGAL_ADDRESS = 700 };
enum {
    MOST_LINES = 200,
    MOST_KERNELS = 16,
    MOST_BLOCKS = 32,
    MOST_REGISTERS = 64,
    MOST_OPERANDS = 5,
    MOST_PARAMETERS = 8
};

/* X(name, operation, operands). Of operands p, r, f, d are registers; s, g, e are r, f, d or a number; a is an address,
 * m a parameter, v a number of the thread, l a label. The first is written, but for st, bra and ret. */
#define OPERATIONS(X)                                                                                                  \
    X(LD_PARAM_64, "ld.param.u64", "dm") X(LD_PARAM_32, "ld.param.u32", "rm") X(CVTA, "cvta.to.global.u64", "dd")      \
    X(MOV_SPECIAL, "mov.u32", "rv") X(MOV_32, "mov.u32", "rs") X(MOV_F, "mov.f32", "fg") X(MAD, "mad.lo.u32", "rrss")  \
    X(SETP_GE, "setp.ge.u32", "prs") X(SETP_LT, "setp.lt.u32", "prs") X(SETP_LE_F, "setp.le.f32", "pfg")               \
    X(BRA, "bra", "l") X(RET, "ret", "") X(SHR, "shr.u32", "rrs") X(SHL, "shl.b32", "rrs") X(DIV, "div.u32", "rrs")    \
    X(REM, "rem.u32", "rrs") X(XOR, "xor.b32", "rrs") X(NOT, "not.b32", "rr") X(MUL_LO, "mul.lo.u32", "rrs")           \
    X(ADD_32, "add.u32", "rrs") X(SUB_32, "sub.u32", "rrs") X(MUL_WIDE, "mul.wide.u32", "drs")                         \
    X(MUL_LO_64, "mul.lo.u64", "dde") X(ADD_64, "add.s64", "dde") X(SUB_64, "sub.s64", "dde")                          \
    X(CVT_64, "cvt.u64.u32", "dr") X(CVT_F, "cvt.rn.f32.u32", "fr") X(LD_F, "ld.global.f32", "fa")                     \
    X(LD_32, "ld.global.u32", "ra") X(LD_F4, "ld.global.v4.f32", "ffffa") X(ST_F, "st.global.f32", "af")               \
    X(ST_F4, "st.global.v4.f32", "affff") X(FMA, "fma.rn.f32", "fggg") X(ADD_F, "add.f32", "fgg")                      \
    X(SUB_F, "sub.f32", "fgg") X(MUL_F, "mul.f32", "fgg") X(SQRT, "sqrt.rn.f32", "fg")

#define X(name, text, operands) name,
typedef enum operation { OPERATIONS(X) NO_OPERATIONS } operation;
#undef X

typedef struct operand {
    int number; /* of a register, parameter, or line; -1: it is a number */
    union {
        uint32_t r;
        uint64_t d;
        float f;
    } is;
} operand;

typedef struct line {
    operation operation;
    operand operands[MOST_OPERANDS];
    int guard; /* the predicate before it; -1: none */
    char label[32];
} line;

typedef struct kernel {
    char name[32];
    char parameters[MOST_PARAMETERS][32], labels[MOST_LINES][32];
    int n_parameters, n;
    int registers[4]; /* how many of p, r, f, d there are */
    line lines[MOST_LINES];
} kernel;

static kernel kernels[MOST_KERNELS];
static int n_kernels;
static struct {
    char *begin;
    size_t bytes;
} blocks[MOST_BLOCKS];

/* ---- reading ---- */

static int read_register(operand *o, const kernel *k, char kind, const char *text)
{
    int end = 0;
    char c;

    return sscanf(text, "%%%c%d%n", &c, &o->number, &end) == 2 && !text[end] && c == kind && o->number >= 0 &&
           o->number < k->registers[kind == 'p' ? 0 : kind == 'r' ? 1 : kind == 'f' ? 2 : 3];
}

static int read_number(operand *o, char kind, const char *text)
{
    char *end;
    unsigned bits;
    int length = 0;

    o->number = -1;
    if (kind == 'g') {
        if (sscanf(text, "0f%8x%n", &bits, &length) != 1 || length != 10 || text[10]) return 0;
        memcpy(&o->is.f, &bits, sizeof bits);
        return 1;
    }
    unsigned long long value = strtoull(text, &end, 0);
    if (kind == 's') o->is.r = (uint32_t)value;
    if (kind == 'e') o->is.d = value;
    return *text && !*end;
}

static int read_operand(operand *o, line *l, const kernel *k, char kind, const char *text)
{
    static const char *const specials[] = {"%ctaid.x", "%ntid.x", "%tid.x"};
    char name[32];
    long long offset = 0;
    int end = 0;

    switch (kind) {
    case 's':
        return read_register(o, k, 'r', text) || read_number(o, kind, text);
    case 'g':
        return read_register(o, k, 'f', text) || read_number(o, kind, text);
    case 'e':
        return read_register(o, k, 'd', text) || read_number(o, kind, text);
    case 'l':
        snprintf(l->label, sizeof l->label, "%s", text);
        return 1;
    case 'v':
        for (o->number = 0; o->number < 3; o->number++)
            if (strcmp(specials[o->number], text) == 0) return 1;
        return 0;
    case 'm':
        for (o->number = 0; o->number < k->n_parameters; o->number++)
            if (sscanf(text, "[%31[a-z]]%n", name, &end) == 1 && end && !text[end] &&
                strcmp(name, k->parameters[o->number]) == 0)
                return 1;
        return 0;
    case 'a':
        if (sscanf(text, "[%31[^]+]%n", name, &end) != 1 || !read_register(o, k, 'd', name)) return 0;
        if (text[end] == '+') offset = strtoll(text + end + 1, NULL, 10);
        o->is.d = (uint64_t)offset;
        return text[strlen(text) - 1] == ']';
    default:
        return read_register(o, k, kind, text);
    }
}

static int read_line(line *l, const kernel *k, char *text)
{
    static const struct {
        const char *text, *operands;
    } operations[] = {
#define X(name, text, operands) {text, operands},
        OPERATIONS(X)
#undef X
    };
    char *words[MOST_OPERANDS + 1], *rest = text;
    int n = 0;

    l->guard = -1;
    if (*rest == '@') {
        operand guard;
        char *word = strsep(&rest, " ");
        if (!rest || !read_register(&guard, k, 'p', word + 1)) return INVALID_PTX;
        l->guard = guard.number;
    }
    char *name = strsep(&rest, " ");
    for (char *word; rest && (word = strsep(&rest, ",")); words[n++] = word) {
        word += strspn(word, " {");
        word[strcspn(word, " }")] = '\0';
        if (n == MOST_OPERANDS) return INVALID_PTX;
    }
    for (int i = 0; i < NO_OPERATIONS; i++) {
        int ok = strcmp(operations[i].text, name) == 0 && (int)strlen(operations[i].operands) == n;
        for (int j = 0; ok && j < n; j++)
            ok = read_operand(&l->operands[j], l, k, operations[i].operands[j], words[j]);
        l->operation = (operation)i;
        if (ok) return SUCCESS;
    }
    fprintf(stderr, "fake_cuda: no such instruction: %s\n", name);
    return INVALID_PTX;
}

static int read_registers(kernel *k, const char *text)
{
    static const char *const types[] = {"pred", "b32", "f32", "b64"};
    char type[8], kind;
    int n;

    if (sscanf(text, ".reg .%7s %%%c<%d>", type, &kind, &n) != 3 || n > MOST_REGISTERS) return INVALID_PTX;
    for (int i = 0; i < 4; i++)
        if (strcmp(types[i], type) == 0 && "prfd"[i] == kind) {
            k->registers[i] = n;
            return SUCCESS;
        }
    return INVALID_PTX;
}

static int read_entry(kernel *k, char *text)
{
    char *at = text;

    if (sscanf(text, ".visible .entry %31[a-z_]", k->name) != 1) return INVALID_PTX;
    for (; (at = strstr(at, ".param .u")) && k->n_parameters < MOST_PARAMETERS; at++)
        if (sscanf(at, ".param .u%*d %31[a-z]", k->parameters[k->n_parameters++]) != 1) return INVALID_PTX;
    return SUCCESS;
}

static int find_labels(kernel *k)
{
    for (int i = 0; i < k->n; i++) {
        line *l = &k->lines[i];
        if (l->operation != BRA) continue;
        for (l->operands[0].number = 0; l->operands[0].number < k->n; l->operands[0].number++)
            if (strcmp(k->labels[l->operands[0].number], l->label) == 0) break;
        if (l->operands[0].number == k->n) return INVALID_PTX;
    }
    return SUCCESS;
}

int cuModuleLoadData(void **module, const char *image)
{
    char *text = strdup(image), *rest = text;
    kernel *k = NULL;
    int status = strncmp(image, ".version 6.0\n.target sm_50\n.address_size 64\n", 44) ? INVALID_PTX : SUCCESS;

    n_kernels = 0;
    memset(kernels, 0, sizeof kernels);
    for (char *at; status == SUCCESS && (at = strsep(&rest, "\n"));) {
        size_t length = strlen(at);
        if (strncmp(at, ".visible", 8) == 0 && n_kernels < MOST_KERNELS) {
            k = &kernels[n_kernels++];
            status = read_entry(k, at);
        } else if (strncmp(at, ".reg", 4) == 0 && k) {
            status = read_registers(k, at);
        } else if (length > 1 && at[length - 1] == ':' && k) {
            snprintf(k->labels[k->n], sizeof k->labels[k->n], "%.*s", (int)length - 1, at);
        } else if (length > 1 && at[length - 1] == ';' && k && k->n < MOST_LINES) {
            at[length - 1] = '\0';
            status = read_line(&k->lines[k->n++], k, at);
        } else if (length > 1 && k) {
            status = INVALID_PTX;
        }
        if (*at == '}') status = find_labels(k);
    }
    free(text);
    *module = kernels;
    return status;
}

/* ---- working out ---- */

static void *number_at(uint64_t address, size_t bytes)
{
    for (int i = 0; i < MOST_BLOCKS; i++) {
        uint64_t begin = (uint64_t)(uintptr_t)blocks[i].begin;
        if (blocks[i].begin && address % bytes == 0 && address >= begin && address + bytes <= begin + blocks[i].bytes)
            return blocks[i].begin + (address - begin);
    }
    return NULL;
}

static int run_thread(const kernel *k, const unsigned special[3], void **arguments)
{
    int p[MOST_REGISTERS] = {0};
    uint32_t r[MOST_REGISTERS] = {0};
    float f[MOST_REGISTERS] = {0};
    uint64_t d[MOST_REGISTERS] = {0};

#define S(i) (o[i].number < 0 ? o[i].is.r : r[o[i].number])
#define G(i) (o[i].number < 0 ? o[i].is.f : f[o[i].number])
#define E(i) (o[i].number < 0 ? o[i].is.d : d[o[i].number])
    for (int at = 0; at < k->n;) {
        const line *l = &k->lines[at++];
        const operand *o = l->operands;
        uint32_t *to_r = &r[o[0].number < 0 ? 0 : o[0].number];
        float *to_f = &f[o[0].number < 0 ? 0 : o[0].number];
        uint64_t *to_d = &d[o[0].number < 0 ? 0 : o[0].number];
        float *memory;
        if (l->guard >= 0 && !p[l->guard]) continue;
        switch (l->operation) {
        case LD_PARAM_64: memcpy(to_d, arguments[o[1].number], 8); break;
        case LD_PARAM_32: memcpy(to_r, arguments[o[1].number], 4); break;
        case CVTA: *to_d = E(1); break;
        case MOV_SPECIAL: *to_r = special[o[1].number]; break;
        case MOV_32: *to_r = S(1); break;
        case MOV_F: *to_f = G(1); break;
        case MAD: *to_r = S(1) * S(2) + S(3); break;
        case SETP_GE: p[o[0].number] = S(1) >= S(2); break;
        case SETP_LT: p[o[0].number] = S(1) < S(2); break;
        case SETP_LE_F: p[o[0].number] = G(1) <= G(2); break;
        case BRA: at = o[0].number; break;
        case RET: return SUCCESS;
        case SHR: *to_r = S(1) >> S(2); break;
        case SHL: *to_r = S(1) << S(2); break;
        case DIV: *to_r = S(1) / S(2); break;
        case REM: *to_r = S(1) % S(2); break;
        case XOR: *to_r = S(1) ^ S(2); break;
        case NOT: *to_r = ~S(1); break;
        case MUL_LO: *to_r = S(1) * S(2); break;
        case ADD_32: *to_r = S(1) + S(2); break;
        case SUB_32: *to_r = S(1) - S(2); break;
        case MUL_WIDE: *to_d = (uint64_t)S(1) * S(2); break;
        case MUL_LO_64: *to_d = E(1) * E(2); break;
        case ADD_64: *to_d = E(1) + E(2); break;
        case SUB_64: *to_d = E(1) - E(2); break;
        case CVT_64: *to_d = S(1); break;
        case CVT_F: *to_f = (float)S(1); break;
        case FMA: *to_f = fmaf(G(1), G(2), G(3)); break;
        case ADD_F: *to_f = G(1) + G(2); break;
        case SUB_F: *to_f = G(1) - G(2); break;
        case MUL_F: *to_f = G(1) * G(2); break;
        case SQRT: *to_f = sqrtf(G(1)); break;
        case LD_F:
        case LD_32:
            if (!(memory = number_at(d[o[1].number] + o[1].is.d, 4))) return ILLEGAL_ADDRESS;
            memcpy(l->operation == LD_F ? (void *)to_f : (void *)to_r, memory, 4);
            break;
        case LD_F4:
            if (!(memory = number_at(d[o[4].number] + o[4].is.d, 16))) return ILLEGAL_ADDRESS;
            for (int i = 0; i < 4; i++)
                f[o[i].number] = memory[i];
            break;
        case ST_F:
            if (!(memory = number_at(d[o[0].number] + o[0].is.d, 4))) return ILLEGAL_ADDRESS;
            memory[0] = f[o[1].number];
            break;
        case ST_F4:
            if (!(memory = number_at(d[o[0].number] + o[0].is.d, 16))) return ILLEGAL_ADDRESS;
            for (int i = 0; i < 4; i++)
                memory[i] = f[o[i + 1].number];
            break;
        case NO_OPERATIONS: return INVALID_PTX;
        }
    }
    return INVALID_PTX; /* no ret at its end */
}

int cuLaunchKernel(const kernel *k, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **arguments,
                   void **extra)
{
    int status = SUCCESS;

    if (grid_y * grid_z * block_y * block_z != 1 || shared_bytes || stream || extra || block_x > 1024)
        return INVALID_VALUE;
    for (unsigned block = 0; block < grid_x; block++)
        for (unsigned thread = 0; thread < block_x && status == SUCCESS; thread++)
            status = run_thread(k, (unsigned[]){block, block_x, thread}, arguments);
    return status;
}

/* ---- the rest of the driver ---- */

static const char *play(void)
{
    const char *text = getenv("FAKE_CUDA");

    return text ? text : "Stand-in GPU";
}

int cuInit(unsigned flags)
{
    return flags ? INVALID_VALUE : SUCCESS;
}

int cuDeviceGetCount(int *n)
{
    *n = strcmp(play(), "none") != 0;
    return SUCCESS;
}

int cuDeviceGet(int *device, int index)
{
    *device = 7;
    return index == 0 ? SUCCESS : INVALID_VALUE;
}

int cuDeviceGetName(char *text, int size, int device)
{
    snprintf(text, (size_t)size, "%s", play());
    return device == 7 ? SUCCESS : INVALID_VALUE;
}

int cuDeviceGetPCIBusId(char *text, int size, int device)
{
    snprintf(text, (size_t)size, "0000:01:00.0");
    return device == 7 ? SUCCESS : INVALID_VALUE;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    *context = blocks;
    return device == 7 ? SUCCESS : INVALID_VALUE;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
    return device == 7 ? SUCCESS : INVALID_VALUE;
}

int cuCtxSetCurrent(void *context)
{
    return context == blocks ? SUCCESS : INVALID_VALUE;
}

int cuCtxSynchronize(void)
{
    return SUCCESS;
}

int cuModuleUnload(void *module)
{
    return module == kernels ? SUCCESS : INVALID_VALUE;
}

int cuModuleGetFunction(void **function, void *module, const char *name)
{
    for (int i = 0; module == kernels && i < n_kernels; i++)
        if (strcmp(kernels[i].name, name) == 0) {
            *function = &kernels[i];
            return SUCCESS;
        }
    return NOT_FOUND;
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    for (int i = 0; i < MOST_BLOCKS; i++) {
        if (blocks[i].begin) continue;
        if (posix_memalign((void **)&blocks[i].begin, 256, bytes)) return OUT_OF_MEMORY;
        blocks[i].bytes = bytes;
        *address = (uint64_t)(uintptr_t)blocks[i].begin;
        return SUCCESS;
    }
    return OUT_OF_MEMORY;
}

int cuMemFree_v2(uint64_t address)
{
    for (int i = 0; i < MOST_BLOCKS; i++)
        if (blocks[i].begin && (uint64_t)(uintptr_t)blocks[i].begin == address) {
            free(blocks[i].begin);
            blocks[i].begin = NULL;
            return SUCCESS;
        }
    return INVALID_VALUE;
}

int cuMemcpyHtoD_v2(uint64_t address, const void *from, size_t bytes)
{
    memcpy((void *)(uintptr_t)address, from, bytes);
    return SUCCESS;
}

int cuMemcpyDtoH_v2(void *to, uint64_t address, size_t bytes)
{
    memcpy(to, (const void *)(uintptr_t)address, bytes);
    if (strcmp(play(), "wrong") == 0) *(float *)to = 1e9f;
    return SUCCESS;
}

int cuGetErrorString(int status, const char **text)
{
    *text = status == INVALID_PTX       ? "a PTX JIT compilation failed"
            : status == ILLEGAL_ADDRESS ? "an illegal memory access was encountered"
                                        : NULL;
    return *text ? SUCCESS : INVALID_VALUE;
}
