/* A flow with a cycle: the integral of sin(1 / x).
 *
 *   cc integral.c -o integral $(pkg-config --cflags --libs heddle) -lm
 *
 * A piece that is not exact enough comes back as two halves. The label says where a piece is: 1 is
 * the whole, 2 k and 2 k + 1 are the halves of k. */
#include <math.h>
#include <stdio.h>
#include <heddle/heddle.h>

static const struct heddle_stream pieces = {.name = "pieces", .first = 1, .n = 1};
static const struct heddle_stream sums = {.name = "sums", .parts = {{2 * sizeof(double)}}};

static double width(uint64_t label)
{
	return ldexp(1, -(63 - __builtin_clzll(label)));
}

/* Simpson's rule on a piece of the interval from 0.01 to 1.01, and on its halves. */
static void simpson_cpu(void *buffers[], void *arg)
{
	const struct heddle_event *piece = arg;
	double *sum = (double *)STARPU_VARIABLE_GET_PTR(buffers[0]);
	double h = width(piece->label), start = 0.01 + piece->label * h - 1, f[5];

	for (int i = 0; i < 5; i++)
		f[i] = sin(1 / (start + h * i / 4));
	sum[0] = h / 6 * (f[0] + 4 * f[2] + f[4]);
	sum[1] = h / 12 * (f[0] + 4 * f[1] + 2 * f[2] + 4 * f[3] + f[4]);
}

static int judge(struct heddle_event *event)
{
	double *sum = event->in[0], *integral = event->arg;

	if (fabs(sum[0] - sum[1]) > 1e-9 * width(event->label)) {
		heddle_event_send(event, &pieces, 2 * event->label);
		return heddle_event_send(event, &pieces, 2 * event->label + 1);
	}
	*integral += sum[1];
	return 0;
}

int main(void)
{
	/* .cuda_funcs and .opencl_funcs beside .cpu_funcs bring in accelerators. */
	static struct starpu_codelet simpson = {
	    .cpu_funcs = {simpson_cpu}, .nbuffers = 1, .modes = {STARPU_W}, .name = "simpson"};
	/* One thread judges, so that it need not share the integral. */
	static const struct heddle_filter filters[] = {
	    {.codelet = &simpson, .ports = {{&pieces, &sums}}},
	    {.name = "judge", .function = judge, .threads = 1, .ports = {{&sums}}}};
	static struct heddle_flow_stats stats;
	struct heddle_flow *flow;
	double integral = 0;
	int status;

	if (starpu_init(NULL))
		return 77;
	status = heddle_flow_create(filters, 2, &integral, &flow);
	if (!status) {
		status = heddle_flow_run(flow, &stats);
		heddle_flow_destroy(flow);
	}
	starpu_shutdown();
	printf("%.9f, %zu pieces, %.0f us\n", integral, stats.tasks, stats.us);
	return status || fabs(integral - 0.5123696287) > 1e-8;
}
