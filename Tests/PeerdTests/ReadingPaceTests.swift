import CRDTCore
import Engine
import PeerdKit
import Testing

/// Who waits how long, with times that are made up.
struct ReadingPaceTests {
    private static let first = ReadingPace.Party.device(DeviceID(bytes: Bytes32(1, 0, 0, 0)))
    private static let second = ReadingPace.Party.device(DeviceID(bytes: Bytes32(2, 0, 0, 0)))

    private static func connection(_ number: UInt64) -> ConnectionID { ConnectionID(rawValue: number) }

    private static func wait(
        _ pace: inout ReadingPace,
        _ party: ReadingPace.Party,
        _ connection: UInt64,
        at now: UInt64
    ) -> Bool {
        pace.holds([1], on: self.connection(connection), of: party, at: now)
    }

    @Test func `what costs no more than its bytes waits for nothing`() {
        var pace = ReadingPace()
        var now: UInt64 = 1_000
        for _ in 0..<1_000 {
            pace.handled(byteCount: 64 << 10, of: Self.first, milliseconds: 64 * 20, at: now + 64 * 20)
            pace.handled(byteCount: 200, of: Self.first, milliseconds: 20, at: now + 64 * 20 + 20)
            now += 64 * 20 + 20
        }
        let waits = Self.wait(&pace, Self.first, 1, at: now)
        #expect(!waits && pace.nextEnd == nil)
    }

    @Test func `who is slow to handle waits three times as long, in order, and nobody else does`() {
        var pace = ReadingPace()
        pace.handled(byteCount: 0, of: Self.first, milliseconds: 320, at: 1_320)
        for number in 1...3 as ClosedRange<UInt8> {
            let isHeld = pace.holds([number], on: Self.connection(1), of: Self.first, at: 1_400)
            #expect(isHeld)
        }
        let otherWaits = Self.wait(&pace, Self.second, 2, at: 1_400)
        #expect(!otherWaits)
        // 300 ms too long, so 900 ms from when it was done.
        #expect(pace.nextEnd == 2_220)
        #expect(pace.release(at: 2_219) == nil)
        // What comes when the time is over waits its turn behind what was kept back.
        let isLateHeld = pace.holds([4], on: Self.connection(1), of: Self.first, at: 2_220)
        #expect(isLateHeld)
        #expect(pace.release(at: 2_220)?.bytes == [1, 2, 3, 4])
        let waits = Self.wait(&pace, Self.first, 1, at: 2_220)
        #expect(!waits && pace.nextEnd == nil)
    }

    @Test func `a device that connects anew goes on waiting`() {
        var pace = ReadingPace()
        pace.handled(byteCount: 0, of: Self.first, milliseconds: 1000, at: 1_000)
        let waits = Self.wait(&pace, Self.first, 1, at: 1_100)
        #expect(waits)
        pace.ended(Self.connection(1))
        #expect(pace.nextEnd == nil)
        let stillWaits = Self.wait(&pace, Self.first, 2, at: 1_200)
        #expect(stillWaits)
        #expect(pace.release(at: 9_000)?.bytes == [1])
    }

    @Test func `whoever has been served longest ago is next, however much the others have sent`() {
        var pace = ReadingPace()
        pace.handled(byteCount: 0, of: Self.first, milliseconds: 100, at: 100)
        pace.handled(byteCount: 0, of: Self.second, milliseconds: 100, at: 200)
        pace.handled(byteCount: 0, of: Self.first, milliseconds: 100, at: 300)
        for number in 1...9 as ClosedRange<UInt8> {
            _ = pace.holds([number], on: Self.connection(1), of: Self.first, at: 300)
        }
        _ = pace.holds([10], on: Self.connection(2), of: Self.second, at: 310)
        #expect(pace.release(at: 5_000)?.bytes == [10])
        #expect(pace.release(at: 5_000)?.bytes == Array(1...9))
    }

    /// Which share of two minutes goes to devices each of which has something slow to say whenever it may.
    private static func share(of deviceCount: UInt64, milliseconds: UInt64) -> Double {
        var pace = ReadingPace()
        var (now, busy) = (UInt64(0), UInt64(0))
        while now < 180_000 {
            var didSpeak = false
            for number in 0..<deviceCount {
                let party = ReadingPace.Party.device(DeviceID(bytes: Bytes32(number, 0, 0, 0)))
                guard !self.wait(&pace, party, number, at: now) else {
                    pace.ended(self.connection(number))
                    continue
                }
                pace.handled(byteCount: 0, of: party, milliseconds: milliseconds, at: now + milliseconds)
                (now, didSpeak) = (now + milliseconds, true)
                // The first time that one is slow is free.
                if now > 60_000 { busy += milliseconds }
            }
            if !didSpeak { now += 5 }
        }
        return Double(busy) / Double(now - 60_000)
    }

    @Test(arguments: [1, 5, 40] as [UInt64], [30, 150, 700] as [UInt64])
    func `many that are slow take what one takes`(deviceCount: UInt64, milliseconds: UInt64) {
        let share = Self.share(of: deviceCount, milliseconds: milliseconds)
        // The more of the time is within what is allowed.
        #expect((0.2...(milliseconds < 100 ? 0.55 : 0.3)).contains(share), "\(share)")
    }

    @Test func `nobody waits for ever`() {
        var pace = ReadingPace()
        let now: UInt64 = 10_000_000
        pace.handled(byteCount: 0, of: Self.first, milliseconds: now, at: now)
        let waits = Self.wait(&pace, Self.first, 1, at: now)
        let longest = ReadingPace.debtMaxMilliseconds * ReadingPace.millisecondsPerDebt
        #expect(waits && pace.nextEnd == now + longest)
    }
}
