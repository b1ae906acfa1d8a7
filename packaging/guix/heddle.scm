;;; Copyright (C) 2026 the Heddle developers
;;; SPDX-License-Identifier: LGPL-2.1-or-later
;;;
;;; guix build -L "$PWD/packaging/guix" heddle, in a source tree. StarPU is that of the channel
;;; Guix-HPC.

(define-module (heddle)
  #:use-module (guix build-system gnu)
  #:use-module (guix gexp)
  #:use-module (guix git-download)
  #:use-module ((guix licenses) #:prefix license:)
  #:use-module (guix packages)
  #:use-module (guix utils)
  #:use-module (gnu packages autotools)
  #:use-module (gnu packages check)
  #:use-module (gnu packages image)
  #:use-module (gnu packages linux)
  #:use-module (gnu packages llvm)
  #:use-module (gnu packages man)
  #:use-module (gnu packages maths)
  #:use-module (gnu packages mpi)
  #:use-module (gnu packages opencl)
  #:use-module (gnu packages pkg-config)
  #:use-module (gnu packages web)
  #:use-module (inria storm))

(define %source-tree
  (dirname (dirname (current-source-directory))))

(define-public heddle
  (package
    (name "heddle")
    (version "0.1.0")
    (source
     (local-file %source-tree "heddle-checkout"
                 #:recursive? #t
                 #:select? (or (git-predicate %source-tree)
                               (const #t))))
    (build-system gnu-build-system)
    (arguments
     (list
      #:configure-flags
      #~(list "--without-cuda"
              (string-append "LLVM_CONFIG="
                             #$(this-package-input "llvm") "/bin/llvm-config")
              (string-append "CLANG="
                             #$(this-package-input "clang") "/bin/clang"))
      ;; Other tests want the machine for themselves.
      #:test-target "check-unit"
      #:phases
      #~(modify-phases %standard-phases
          (add-before 'check 'set-seed
            (lambda _
              (setenv "HEDDLE_TEST_SEED" "1"))))))
    (native-inputs
     (list autoconf automake cmocka help2man libtool pkg-config util-linux))
    (inputs
     (list clang-14
           glpk
           `(,hwloc "lib")
           jansson
           libpng
           llvm-14
           openblas
           opencl-headers
           opencl-icd-loader
           openmpi))
    ;; Heddle's headers include StarPU's.
    (propagated-inputs
     (list starpu))
    (home-page "https://localhost.invalid/heddle")
    (synopsis "Loops, kernels and task graphs on all processors of a machine")
    (description
     "Heddle runs loops, OpenCL kernels and task graphs on all processors of a
machine at once: CPU cores, GPUs and FPGAs.  It cuts a loop into tasks of
StarPU and sizes them while the loop runs, so that all processors finish
together.  It is also a set of scheduling policies for StarPU.")
    (license license:lgpl2.1+)))

heddle
