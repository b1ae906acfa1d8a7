/* The loop of axpy.c in C++17, its body a lambda over spans. */
#include <cstdio>
#include <vector>
#include <heddle/heddle.hpp>

int main()
{
	const std::size_t n = 1 << 20;
	std::vector<float> x(n), y(n);
	const float a = 2;

	for (std::size_t i = 0; i < n; i++)
		x[i] = static_cast<float>(i);
	try {
		heddle::session session;
		heddle::vector hx(x), hy(y);
		/* .cuda(function) and .opencl(function) bring in accelerators. */
		heddle::loop axpy(
		    n,
		    [a](auto from, auto to) {
			    for (std::size_t i = 0; i < to.size(); i++)
				    to[i] += a * from[i];
		    },
		    heddle::in(hx), heddle::inout(hy));
		auto stats = axpy.name("axpy").run();

		std::printf("%.0f us\n", stats->us);
		for (unsigned w = 0; w < stats->nworkers; w++)
			std::printf("%s: %zu iterations in %zu blocks\n", stats->workers[w].name,
			            stats->workers[w].iterations, stats->workers[w].blocks);
	} catch (const std::exception &e) {
		std::fprintf(stderr, "%s\n", e.what());
		return 1;
	}
	/* The handles have ended: the results are in main memory. */
	std::size_t wrong = 0;

	for (std::size_t i = 0; i < n; i++)
		wrong += y[i] != 2 * x[i];
	std::printf("%zu wrong\n", wrong);
	return wrong != 0;
}
