/* Headers of files of tokens, as NumPy and llm.c write them and as nobody should. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "runtime/host/data_header.h"

static struct data_header header;
static struct data_header_refusal refusal;

/* A file of NumPy's with this dictionary, padded as NumPy pads it. */
static int read_version(int version, const char *dictionary) {
    unsigned char bytes[12 + 256] = "\x93NUMPY";
    size_t begin = version == 1 ? 10 : 12, length = 128 - begin;
    bytes[6] = (unsigned char)version;
    bytes[8] = (unsigned char)length;
    memset(bytes + begin, ' ', length);
    memcpy(bytes + begin, dictionary, strlen(dictionary));
    bytes[127] = '\n';
    return npy_header_read(bytes, 128, &header, &refusal);
}

static void arrays_of_unsigned_numbers_are_read(void **state) {
    static const struct {
        const char *dictionary;
        int width;
        int64_t tokens;
    } cases[] = {
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (2000,), }", 2, 2000},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (7,), }", 1, 7},
        {"{'descr': '<u4', 'fortran_order': False, 'shape': (9223372036854775807,), }", 4,
         INT64_MAX},
        {"{'descr': '<u8', 'fortran_order': False, 'shape': (0,), }", 8, 0},
        /* In another order and other quotes, of Python 2, without commas that are not needed. */
        {"{\"shape\":(12L,),\"fortran_order\":True,\"descr\":\"<u2\"}", 2, 12},
        {" { 'descr' : '<u2' , 'fortran_order' : False , 'shape' : ( 3 , ) , } ", 2, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int version = 1; version <= 3; version++) {
            assert_int_equal(read_version(version, cases[i].dictionary), 0);
            assert_int_equal(header.width, cases[i].width);
            assert_int_equal(header.tokens, cases[i].tokens);
            assert_int_equal(header.begin, 128);
        }
}

static void other_arrays_are_refused_as_what_they_are(void **state) {
    static const struct {
        const char *dictionary, *what;
    } cases[] = {
        {"{'descr': '<i8', 'fortran_order': False, 'shape': (20,), }", "its numbers are '<i8'"},
        {"{'descr': '>u2', 'fortran_order': False, 'shape': (20,), }", "its numbers are '>u2'"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (20,), }", "its numbers are '<f4'"},
        {"{'descr': '<u2\x1b[2J', 'fortran_order': False, 'shape': (20,), }", "'<u2?[2J'"},
        {"{'descr': '', 'fortran_order': False, 'shape': (20,), }", "its numbers are ''"},
        {"{'descr': [('a', '<u2')], 'fortran_order': False, 'shape': (20,), }", "structured"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (20, 65), }", "its shape is (20, 65),"},
        {"{'descr': '<u2', 'fortran_order': True, 'shape': (20, 65), }",
         "its shape is (20, 65) in Fortran's order"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (), }", "its shape is ()"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(read_version(1, cases[i].dictionary), -1);
        assert_non_null(strstr(refusal.what, cases[i].what));
        assert_non_null(refusal.remedy);
    }
}

static void dictionaries_that_numpy_does_not_write_are_damaged(void **state) {
    static const char *const cases[] = {
        "",
        "{}",
        "{'descr': '<u2', 'fortran_order': False, }",
        "{'descr': '<u2', 'shape': (20,), }",
        "{'fortran_order': False, 'shape': (20,), }",
        "{'descr': '<u2', 'descr': '<u4', 'fortran_order': False, 'shape': (20,), }",
        "{'descr': '<u2', 'fortran_order': False, 'shape': (20,), 'more': 1, }",
        "{'descr': '<u2', 'fortran_order': False, 'shape': (20,), } 1",
        "{'descr': '<u2', 'fortran_order': Maybe, 'shape': (20,), }",
        "{'descr': '<u2', 'fortran_order': False, 'shape': 20, }",
        "{'descr': '<u2', 'fortran_order': False, 'shape': (-1,), }",
        "{'descr': '<u2', 'fortran_order': False, 'shape': (9223372036854775808,), }",
        "{'descr': '<u2', 'fortran_order': False, 'shape': (20, }",
        "{'descr': '<u2', 'fortran_order': False, 'shape': (20,)",
        "{'descr': '<u2",
        "{'descr' '<u2', 'fortran_order': False, 'shape': (20,), }",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(read_version(1, cases[i]), -1);
        assert_non_null(strstr(refusal.what, "does not say type, order and shape"));
    }
}

static void lengths_are_looked_at_before_they_are_believed(void **state) {
    static const struct {
        unsigned char begin[16];
        size_t n;
        const char *what;
    } cases[] = {
        {"\x93NUMPY\x01\x00\x76", 9, "it ends inside its header"},
        {"\x93NUMPY\x01\x00\x76\x00{}", 16, "it ends inside its header"},
        {"\x93NUMPY\x01\x00\xff\xff{}", 16, "more than 10000 bytes"},
        {"\x93NUMPY\x02\x00\xff\xff\xff\xff{}", 16, "more than 10000 bytes"},
        {"\x93NUMPY\x04\x00\x76\x00{}", 16, "none of NumPy's versions"},
        {"\x93NUMPY\x01\x01\x76\x00{}", 16, "none of NumPy's versions"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(npy_header_read(cases[i].begin, cases[i].n, &header, &refusal), -1);
        assert_non_null(strstr(refusal.what, cases[i].what));
    }
}

static void a_header_of_llm_c_has_256_numbers(void **state) {
    unsigned char bytes[1024] = {0xa1, 0xd9, 0x34, 0x01, 7, 0, 0, 0, 0xff, 0xff, 0xff, 0xff};
    assert_int_equal(llmc_header_read(bytes, 1023, &header, &refusal), -1);
    assert_int_equal(llmc_header_read(bytes, 1024, &header, &refusal), 0);
    assert_int_equal(header.width, 4);
    assert_int_equal(header.begin, 1024);
    assert_int_equal(header.tokens, UINT32_MAX);
    bytes[0] = 0x88, bytes[1] = 0xd8;
    assert_int_equal(llmc_header_read(bytes, 1024, &header, &refusal), 0);
    assert_int_equal(header.width, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_of_unsigned_numbers_are_read),
        cmocka_unit_test(other_arrays_are_refused_as_what_they_are),
        cmocka_unit_test(dictionaries_that_numpy_does_not_write_are_damaged),
        cmocka_unit_test(lengths_are_looked_at_before_they_are_believed),
        cmocka_unit_test(a_header_of_llm_c_has_256_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
