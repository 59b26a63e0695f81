import Testing

@testable import PeerdKit

/// When files are written anew after an erasure; times are milliseconds.
struct ScrubScheduleTests {
    @Test("the first erasure is followed by one writing of the files, a moment later")
    func first() {
        let schedule = ScrubSchedule()
        #expect(schedule.delay(at: 5_000_000) == 1_000)
        #expect(schedule.step(at: 5_000_000) == .writeFiles)
    }

    @Test("the files are left alone for fifty times as long as it took, and for ten seconds at least")
    func rest() {
        var schedule = ScrubSchedule()
        schedule.wroteFiles(isLogEmpty: true, from: 1_000, to: 1_020)
        #expect(schedule.delay(at: 1_020) == 10_000)
        schedule.wroteFiles(isLogEmpty: true, from: 20_000, to: 24_000)
        #expect(schedule.delay(at: 24_000) == 200_000)
        #expect(schedule.delay(at: 224_000) == 1_000)
    }

    @Test("a log that somebody reads is tried again each second, and the files are not written for it meanwhile")
    func barredLog() {
        var schedule = ScrubSchedule()
        schedule.wroteFiles(isLogEmpty: false, from: 1_000, to: 2_000)
        #expect(schedule.delay(at: 2_000) == 1_000)
        #expect(schedule.step(at: 3_000) == .emptyLog)
        schedule.triedLog(isEmpty: false, at: 3_000)
        #expect(schedule.delay(at: 3_000) == 1_000)
        #expect(schedule.step(at: 52_000) == .writeFiles)
        schedule.triedLog(isEmpty: true, at: 4_000)
        #expect(schedule.delay(at: 4_000) == 48_000)
        #expect(schedule.step(at: 4_000) == .writeFiles)
    }

    @Test("what failed is tried again later, sooner if it was no work")
    func failure() {
        var schedule = ScrubSchedule()
        schedule.failed(from: 1_000, to: 2_000)
        #expect(schedule.delay(at: 2_000) == 50_000)
        schedule.failed(from: 60_000, to: 60_000)
        #expect(schedule.delay(at: 60_000) == 10_000)
    }
}
