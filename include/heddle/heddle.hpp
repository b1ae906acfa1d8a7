/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Heddle for C++17: a header, and no library of its own.
 *
 * - heddle::session starts and ends StarPU
 * - heddle::buffer is memory of heddle_malloc()
 * - heddle::vector and heddle::matrix are data handles
 * - heddle::loop is a loop whose body is a lambda over spans on CPU workers, with codelets for
 *   accelerators beside it
 * - heddle::loop_request, heddle::kernel_request and heddle::wavefront_request are waited for when
 *   they end
 *
 * What fails throws heddle::error, after a message on standard error. The functions below are
 * those of the C headers, which describe them. Start with heddle::loop.
 */
#ifndef HEDDLE_HEDDLE_HPP
#define HEDDLE_HEDDLE_HPP

#if __cplusplus < 201703L
#error "heddle/heddle.hpp needs C++17: compile with -std=c++17 or later"
#endif

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <heddle/heddle.h>

namespace heddle
{

/** A function of Heddle's or StarPU's failed. Its code() is the positive errno value. */
class error : public std::system_error
{
      public:
	/** @param status the negative errno value
	 * @param function the function */
	error(int status, const char *function)
	    : std::system_error(-status, std::generic_category(), function)
	{
	}
};

/** Throws heddle::error for a negative errno value.
 * @param status what a function returned
 * @param function its name */
inline void check(int status, const char *function)
{
	if (status)
		throw error(status, function);
}

/** StarPU, from its start to its end. Other objects of this header live within it. */
class session
{
      public:
	/** Calls starpu_init().
	 * @param conf StarPU's configuration; null: that of the environment */
	explicit session(struct starpu_conf *conf = nullptr)
	{
		check(heddle_starpu_check(), "heddle_starpu_check");
		check(starpu_init(conf), "starpu_init");
	}
	~session()
	{
		heddle_kernels_unload();
		starpu_shutdown();
	}
	session(const session &) = delete;
	session &operator=(const session &) = delete;
};

/** Consecutive elements in memory that something else owns, as C++20's std::span. */
template <class T> class span
{
      public:
	/** @param first the first element
	 * @param count number of elements */
	span(T *first, std::size_t count) : first_(first), count_(count)
	{
	}
	/** @return the first element */
	T *data() const
	{
		return first_;
	}
	/** @return number of elements */
	std::size_t size() const
	{
		return count_;
	}
	/** @param i below size()
	 * @return the element */
	T &operator[](std::size_t i) const
	{
		return first_[i];
	}
	/** @return the first element */
	T *begin() const
	{
		return first_;
	}
	/** @return behind the last element */
	T *end() const
	{
		return first_ + count_;
	}

      private:
	T *first_;
	std::size_t count_;
};

/** Rows of a matrix in memory that something else owns. */
template <class T> class rows
{
      public:
	/** @param first the first element
	 * @param count number of rows
	 * @param columns elements of a row
	 * @param stride elements from a row to the next one */
	rows(T *first, std::size_t count, std::size_t columns, std::size_t stride)
	    : first_(first), count_(count), columns_(columns), stride_(stride)
	{
	}
	/** @return number of rows */
	std::size_t size() const
	{
		return count_;
	}
	/** @return elements of a row */
	std::size_t columns() const
	{
		return columns_;
	}
	/** @param i below size()
	 * @return the row */
	span<T> operator[](std::size_t i) const
	{
		return span<T>(first_ + i * stride_, columns_);
	}

      private:
	T *first_;
	std::size_t count_, columns_, stride_;
};

/** Elements in memory of heddle_malloc(), which CUDA copies faster. They are zero at first. */
template <class T> class buffer
{
	static_assert(std::is_trivially_copyable<T>::value, "StarPU copies elements as bytes");

      public:
	/** @param count number of elements */
	explicit buffer(std::size_t count) : count_(count)
	{
		void *memory;

		if (count > SIZE_MAX / sizeof(T))
			throw std::bad_alloc();
		check(heddle_malloc(&memory, count * sizeof(T)), "heddle_malloc");
		first_ = static_cast<T *>(memory);
	}
	~buffer()
	{
		heddle_free(first_, count_ * sizeof(T));
	}
	buffer(const buffer &) = delete;
	buffer &operator=(const buffer &) = delete;
	/** @return the first element */
	T *data()
	{
		return first_;
	}
	/** @return number of elements */
	std::size_t size() const
	{
		return count_;
	}
	/** @param i below size()
	 * @return the element */
	T &operator[](std::size_t i)
	{
		return first_[i];
	}
	/** @return the first element */
	T *begin()
	{
		return first_;
	}
	/** @return behind the last element */
	T *end()
	{
		return first_ + count_;
	}

      private:
	T *first_;
	std::size_t count_;
};

/** A data handle. It ends, and its data is in main memory, when the object ends. */
class handle
{
      public:
	~handle()
	{
		if (handle_)
			starpu_data_unregister(handle_);
	}
	/** @param other has no handle afterwards */
	handle(handle &&other) noexcept : handle_(std::exchange(other.handle_, nullptr))
	{
	}
	handle(const handle &) = delete;
	handle &operator=(const handle &) = delete;
	/** @return StarPU's handle */
	starpu_data_handle_t get() const
	{
		return handle_;
	}

      protected:
	handle() = default;
	starpu_data_handle_t handle_ = nullptr; /**< null once it was moved */
};

/** A handle of a vector. */
template <class T> class vector : public handle
{
	static_assert(std::is_trivially_copyable<T>::value, "StarPU copies elements as bytes");

      public:
	/** What a loop's body gets of it. */
	template <class E> using part = span<E>;
	/** @param first the first element, in main memory
	 * @param count number of elements, below 2^32 */
	vector(T *first, std::size_t count)
	{
		if (count > UINT32_MAX)
			throw error(-EINVAL, "heddle::vector: 2^32 elements or more");
		starpu_vector_data_register(&handle_, STARPU_MAIN_RAM,
		                            reinterpret_cast<std::uintptr_t>(first),
		                            static_cast<std::uint32_t>(count), sizeof(T));
	}
	/** @param container a std::vector, std::array or heddle::buffer */
	template <class Container, class = decltype(std::declval<Container &>().data())>
	explicit vector(Container &container) : vector(container.data(), container.size())
	{
	}
	/** @param interface StarPU's description of a block's part
	 * @return the part */
	template <class E> static span<E> part_of(void *interface)
	{
		auto *v = static_cast<struct starpu_vector_interface *>(interface);
		return span<E>(reinterpret_cast<E *>(v->ptr), v->nx);
	}
};
/** Elements of a container. */
template <class Container>
vector(Container &) -> vector<std::remove_pointer_t<decltype(std::declval<Container &>().data())>>;

/** A handle of a matrix, row after row. */
template <class T> class matrix : public handle
{
	static_assert(std::is_trivially_copyable<T>::value, "StarPU copies elements as bytes");

      public:
	/** What a loop's body gets of it. */
	template <class E> using part = rows<E>;
	/** @param first the first element, in main memory
	 * @param count number of rows, below 2^32
	 * @param columns elements of a row, below 2^32
	 * @param stride elements from a row to the next one; 0: columns */
	matrix(T *first, std::size_t count, std::size_t columns, std::size_t stride = 0)
	{
		stride = stride ? stride : columns;
		if (count > UINT32_MAX || columns > UINT32_MAX || stride > UINT32_MAX)
			throw error(-EINVAL, "heddle::matrix: 2^32 rows or columns, or more");
		starpu_matrix_data_register(
		    &handle_, STARPU_MAIN_RAM, reinterpret_cast<std::uintptr_t>(first),
		    static_cast<std::uint32_t>(stride), static_cast<std::uint32_t>(columns),
		    static_cast<std::uint32_t>(count), sizeof(T));
	}
	/** @param interface StarPU's description of a block's part
	 * @return the part */
	template <class E> static rows<E> part_of(void *interface)
	{
		auto *m = static_cast<struct starpu_matrix_interface *>(interface);
		return rows<E>(reinterpret_cast<E *>(m->ptr), m->ny, m->nx, m->ld);
	}
};

/** How a loop uses a handle: of in(), out(), inout() or sum(). E is the element as the body sees
 * it, H the class of the handle. */
template <class E, class H> class access
{
      public:
	using part = typename H::template part<E>; /**< what the body gets */
	/** @param h the handle
	 * @param mode StarPU's mode */
	access(const H &h, enum starpu_data_access_mode mode)
	{
		c.handle = h.get();
		c.mode = mode;
	}
	/** Every iteration may read all of it.
	 * @return this object */
	access &whole()
	{
		c.share = HEDDLE_WHOLE;
		return *this;
	}
	/** Iterations also read neighbours. The part begins with them (heddle_block_before()).
	 * @param elements elements or rows on either side
	 * @return this object */
	access &halo(std::size_t elements)
	{
		c.share = HEDDLE_HALO;
		c.halo = elements;
		return *this;
	}
	/** An iteration has several elements or rows.
	 * @param elements how many
	 * @return this object */
	access &per_iteration(std::size_t elements)
	{
		c.per_iteration = elements;
		return *this;
	}
	/** Iteration i has elements or rows index[i] to index[i + 1] - 1.
	 * @param index n + 1 entries of 32 or 64 bits, complete at the submission
	 * @return this object */
	template <class I> access &indexed(const I *index)
	{
		static_assert(std::is_integral<I>::value && sizeof(I) >= 4, "32 or 64 bits");
		c.share = HEDDLE_INDEXED;
		c.index_array = index;
		c.index_bytes = sizeof(I);
		return *this;
	}
	struct heddle_access c = {}; /**< what C has */
};

/** A handle that a loop reads.
 * @param h the handle
 * @return its use */
template <template <class> class H, class T> access<const T, H<T>> in(const H<T> &h)
{
	return access<const T, H<T>>(h, STARPU_R);
}

/** A handle that a loop writes, completely.
 * @param h the handle
 * @return its use */
template <template <class> class H, class T> access<T, H<T>> out(const H<T> &h)
{
	return access<T, H<T>>(h, STARPU_W);
}

/** A handle that a loop reads and writes.
 * @param h the handle
 * @return its use */
template <template <class> class H, class T> access<T, H<T>> inout(const H<T> &h)
{
	return access<T, H<T>>(h, STARPU_RW);
}

/** A vector that every iteration adds to. Each block has one of zeros; its elements are added to
 * those of the vector.
 * @param h the handle
 * @return its use */
template <class T> access<T, vector<T>> sum(const vector<T> &h)
{
	access<T, vector<T>> a(h, STARPU_RW);

	a.c.share = HEDDLE_REDUCE;
	a.c.combine = [](void *into, const void *from, size_t bytes, void *) {
		for (std::size_t i = 0; i < bytes / sizeof(T); i++)
			static_cast<T *>(into)[i] += static_cast<const T *>(from)[i];
	};
	return a;
}

/** What was submitted. It is waited for when the object ends, if wait() was not called. Request,
 * Stats and wait_for are those of C. */
template <class Request, class Stats, int (*wait_for)(Request *, Stats *)> class request
{
      public:
	/** @param submitted what C's function has submitted
	 * @param kept what must live until its end */
	explicit request(Request *submitted, std::shared_ptr<void> kept = nullptr)
	    : request_(submitted), kept_(std::move(kept))
	{
	}
	/** @param other has no request afterwards */
	request(request &&other) noexcept
	    : request_(std::exchange(other.request_, nullptr)), kept_(std::move(other.kept_))
	{
	}
	request(const request &) = delete;
	request &operator=(const request &) = delete;
	~request()
	{
		if (request_)
			wait_for(request_, nullptr);
	}
	/** Waits for the end.
	 * @return what was done */
	std::unique_ptr<Stats> wait()
	{
		auto stats = std::make_unique<Stats>();

		if (!request_)
			throw error(-EINVAL, "heddle::request: waited for twice");
		check(wait_for(std::exchange(request_, nullptr), stats.get()), "heddle::request");
		return stats;
	}

      private:
	Request *request_;
	std::shared_ptr<void> kept_;
};

/** A submitted kernel. */
using kernel_request =
    request<struct heddle_kernel_request, struct heddle_kernel_stats, heddle_kernel_wait>;
/** A submitted wavefront. */
using wavefront_request =
    request<struct heddle_wavefront_request, struct heddle_wavefront_stats, heddle_wavefront_wait>;

/** Submits a kernel.
 * @param kernel the kernel
 * @return the request */
inline kernel_request submit(const struct heddle_kernel &kernel)
{
	struct heddle_kernel_request *submitted;

	check(heddle_kernel_submit(&kernel, &submitted), "heddle_kernel_submit");
	return kernel_request(submitted);
}

/** Submits a wavefront. Its data, codelet and argument must live until its end.
 * @param wavefront the wavefront
 * @return the request */
inline wavefront_request submit(const struct heddle_wavefront &wavefront)
{
	struct heddle_wavefront_request *submitted;

	check(heddle_wavefront_submit(&wavefront, &submitted), "heddle_wavefront_submit");
	return wavefront_request(submitted);
}

/** What a loop needs until its end: its codelet, its body, and the argument of the codelets for
 * accelerators. Programs have no use for it. */
struct loop_state {
	struct starpu_codelet codelet;          /**< what StarPU runs */
	std::string name;                       /**< the codelet's */
	std::mutex mutex;                       /**< of the exception */
	std::exception_ptr exception;           /**< the first that the body has thrown */
	const void *body = nullptr;             /**< the lambda */
	std::shared_ptr<void> owner;            /**< of the lambda */
	std::vector<std::max_align_t> argument; /**< state and argument, as `head` says */

	/** What is in front of the argument, so that blocks lead to the state. */
	struct alignas(std::max_align_t) head {
		loop_state *state; /**< the loop's */
	};

	/** Notes an exception of the body.
	 * @return the status of the block */
	int caught()
	{
		std::lock_guard<std::mutex> lock(mutex);

		if (!exception)
			exception = std::current_exception();
		try {
			throw;
		} catch (const std::bad_alloc &) {
			return -ENOMEM;
		} catch (...) {
			return -EIO;
		}
	}
};

/** A submitted loop. */
class loop_request
{
      public:
	/** @param submitted what C's function has submitted
	 * @param state the loop's */
	loop_request(struct heddle_loop_request *submitted, std::shared_ptr<loop_state> state)
	    : request_(submitted, state), state_(std::move(state))
	{
	}
	/** Waits for the end. If the loop failed as its body threw, that exception is thrown.
	 * @return what was done */
	std::unique_ptr<struct heddle_loop_stats> wait()
	{
		try {
			return request_.wait();
		} catch (const error &) {
			if (state_->exception)
				std::rethrow_exception(state_->exception);
			throw;
		}
	}

      private:
	request<struct heddle_loop_request, struct heddle_loop_stats, heddle_loop_wait> request_;
	std::shared_ptr<loop_state> state_;
};

/** A loop. Its body computes a block on a CPU worker, and several blocks at once: it is called as
 * const. It gets a span of each access (of a matrix: rows), and before these the block, if it
 * takes one:
 *
 *     heddle::loop axpy(n, [a](auto x, auto y) {
 *             for (std::size_t i = 0; i < y.size(); i++)
 *                     y[i] += a * x[i];
 *     }, heddle::in(x), heddle::inout(y));
 *     auto stats = axpy.cuda(axpy_cuda).argument(a).run();
 *
 * A span covers the block's part: element 0 is the first iteration's own, or of its halo. An
 * exception of the body fails the block, as a status below 0 does that it returns. */
template <class F, class... A> class loop
{
	static_assert(sizeof...(A) <= HEDDLE_LOOP_MAXHANDLES, "StarPU has not as many buffers");

      public:
	struct heddle_loop c = {}; /**< what C has, for fields that have no function here */

	/** @param iterations how many
	 * @param body the body
	 * @param accesses uses of handles, of in(), out(), inout() or sum() */
	loop(std::size_t iterations, F body, A... accesses) : state_(std::make_shared<loop_state>())
	{
		auto owned = std::make_shared<F>(std::move(body));
		unsigned a = 0;

		state_->body = owned.get();
		state_->owner = owned;
		starpu_codelet_init(&state_->codelet);
		state_->codelet.cpu_funcs[0] = cpu;
		((c.accesses[a++] = accesses.c), ...);
		c.naccesses = a;
		c.codelet = &state_->codelet;
		c.n = iterations;
		argument_set(nullptr, 0);
	}
	/** A codelet's function for CUDA workers.
	 * @param function the function
	 * @param async whether it leaves work in StarPU's stream
	 * @return this object */
	loop &cuda(starpu_cuda_func_t function, bool async = true)
	{
		state_->codelet.cuda_funcs[0] = function;
		state_->codelet.cuda_flags[0] = async ? STARPU_CUDA_ASYNC : 0;
		return *this;
	}
	/** A codelet's function for OpenCL workers.
	 * @param function the function
	 * @param async whether it leaves work in StarPU's queue
	 * @return this object */
	loop &opencl(starpu_opencl_func_t function, bool async = true)
	{
		state_->codelet.opencl_funcs[0] = function;
		state_->codelet.opencl_flags[0] = async ? STARPU_OPENCL_ASYNC : 0;
		return *this;
	}
#ifdef STARPU_HIP_ASYNC
	/** A codelet's function for HIP workers (StarPU 1.4).
	 * @param function the function
	 * @param async whether it leaves work in StarPU's stream
	 * @return this object */
	loop &hip(starpu_hip_func_t function, bool async = true)
	{
		state_->codelet.hip_funcs[0] = function;
		state_->codelet.hip_flags[0] = async ? STARPU_HIP_ASYNC : 0;
		return *this;
	}
#endif
	/** What the field `arg` of a block points to, for the functions above.
	 * @param value is copied
	 * @return this object */
	template <class T> loop &argument(const T &value)
	{
		static_assert(std::is_trivially_copyable<T>::value, "it is copied as bytes");
		argument_set(&value, sizeof(T));
		return *this;
	}
	/** @param text the name in logs and traces
	 * @return this object */
	loop &name(const std::string &text)
	{
		state_->name = text;
		state_->codelet.name = state_->name.c_str();
		return *this;
	}
	/** @param specification the strategy, a string that lives until the submission
	 * @return this object */
	loop &strategy(const char *specification)
	{
		c.strategy = specification;
		return *this;
	}
	/** Submits the loop. It can be submitted again when it has ended.
	 * @return the request */
	loop_request submit()
	{
		struct heddle_loop_request *submitted;

		state_->exception = nullptr;
		check(heddle_loop_submit(&c, &submitted), "heddle_loop_submit");
		return loop_request(submitted, state_);
	}
	/** Runs the loop.
	 * @return what it did */
	std::unique_ptr<struct heddle_loop_stats> run()
	{
		return submit().wait();
	}

      private:
	std::shared_ptr<loop_state> state_;

	void argument_set(const void *value, std::size_t bytes)
	{
		constexpr std::size_t unit = sizeof(std::max_align_t);
		std::size_t head = sizeof(loop_state::head);

		state_->argument.assign((head + bytes + unit - 1) / unit, std::max_align_t());
		auto *first = reinterpret_cast<unsigned char *>(state_->argument.data());
		new (first) loop_state::head{state_.get()};
		for (std::size_t b = 0; b < bytes; b++)
			first[head + b] = static_cast<const unsigned char *>(value)[b];
		c.arg = first + head;
	}
	template <std::size_t... I>
	static int call(const F &body, const struct heddle_block &block, void *buffers[],
	                std::index_sequence<I...>)
	{
		if constexpr (std::is_invocable<const F &, const struct heddle_block &,
		                                typename A::part...>::value)
			return result([&] { return body(block, part<A>(buffers[I])...); });
		else
			return result([&] { return body(part<A>(buffers[I])...); });
	}
	/* The status of a body that returns one. */
	template <class G> static int result(const G &g)
	{
		if constexpr (std::is_void<decltype(g())>::value) {
			g();
			return 0;
		} else {
			return g();
		}
	}
	template <class Access> static typename Access::part part(void *interface)
	{
		return part(interface, static_cast<Access *>(nullptr));
	}
	template <class E, class H>
	static typename H::template part<E> part(void *interface, access<E, H> *)
	{
		return H::template part_of<E>(interface);
	}
	static void cpu(void *buffers[], void *arg)
	{
		auto *block = static_cast<struct heddle_block *>(arg);
		auto *head = reinterpret_cast<const loop_state::head *>(
		    static_cast<const unsigned char *>(block->arg) - sizeof(loop_state::head));

		try {
			block->status = call(*static_cast<const F *>(head->state->body), *block,
			                     buffers, std::index_sequence_for<A...>());
		} catch (...) {
			block->status = head->state->caught();
		}
	}
};

} // namespace heddle

#endif
