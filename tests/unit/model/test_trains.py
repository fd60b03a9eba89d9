from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME, TrainInfo


def test_only_the_end_of_time_ends_a_stream() -> None:
    assert TrainInfo(1, 0, 0, 0.0, watermark=END_OF_TIME).is_end
    assert not TrainInfo(1, 0, 0, 0.0, watermark=END_OF_TIME - 1).is_end
    assert not TrainInfo(1, 0, 0, 0.0).is_end


def test_times_fit_where_spark_and_arrow_keep_them() -> None:
    assert (BEGIN_OF_TIME, END_OF_TIME) == (-(2**63), 2**63 - 1)
