import PeerCrypto
import SyncProtocol
import Testing

struct RekeyTests {
    @Test(arguments: [KeyLimits.records(3), .bytes(33), .age(30)])
    func `both directions go over to new keys and stay in step`(_ limits: KeyLimits) throws {
        var pair = try ChannelPair(sendingLimits: limits, receivingLimits: limits)
        var rekeyCount = 0
        for step in 0..<60 as Range<UInt64> {
            let there = pair.left.seal(pattern(10), now: step * 10)
            rekeyCount += records(in: there).count - 1
            #expect(Array(pair.right.open(there, now: step * 10).stream) == pattern(10), "step \(step)")
            if step.isMultiple(of: 2) {
                let back = pair.right.seal(pattern(11), now: step * 10)
                #expect(Array(pair.left.open(back, now: step * 10).stream) == pattern(11), "step \(step)")
            }
        }
        #expect(rekeyCount == 19)
    }

    @Test func `a long message goes over to new keys in its middle`() throws {
        var pair = try ChannelPair(sendingLimits: .records(1), receivingLimits: .records(1))
        let message = pattern(5 * 65518)
        let sealed = pair.left.seal(message, now: 0)
        #expect(records(in: sealed).count == 9)
        #expect(Array(pair.right.open(sealed, now: 0).stream) == message)
    }

    @Test func `a key that was not used does not grow old`() throws {
        var pair = try ChannelPair(sendingLimits: .age(10), receivingLimits: .age(10))
        let sealed = pair.left.seal([1], now: 1_000_000)
        #expect(records(in: sealed).count == 1)
        #expect(Array(pair.right.open(sealed, now: 2_000_000).stream) == [1])
    }

    @Test func `a clock that goes back makes no key old`() throws {
        var pair = try ChannelPair(sendingLimits: .age(10), receivingLimits: .age(10))
        for now in [100, 50, 0, .max, 0] as [UInt64] {
            let sealed = pair.left.seal([1], now: now)
            #expect(pair.right.open(sealed, now: now).end == nil)
        }
    }

    @Test(
        arguments: [
            (KeyLimits.records(4), 4), (.bytes(44), 4), (.age(40), 4),
        ]
    )
    func `a peer that keeps to one key for too long is dropped`(_ limits: KeyLimits, _ sound: Int) throws {
        let never = KeyLimits(recordCount: .max, byteCount: .max, ageMilliseconds: .max)
        var pair = try ChannelPair(sendingLimits: never, receivingLimits: limits)
        for step in 0..<sound {
            let sealed = pair.left.seal(pattern(10), now: 0)
            #expect(pair.right.open(sealed, now: UInt64(step) * 10).end == nil)
        }
        let sealed = pair.left.seal(pattern(10), now: 0)
        let opened = pair.right.open(sealed, now: UInt64(sound) * 10)
        #expect(opened.stream.isEmpty)
        #expect(opened.end == .violation(.overusedKey))
    }

    @Test func `a sender with the limits of users has a new key after 65,536 records, and is not dropped`() throws {
        var pair = try ChannelPair()
        var (recordCount, received) = (0, 0)
        for _ in 0..<66 {
            var sealed: [UInt8] = []
            for _ in 0..<1_000 { sealed += pair.left.seal([7], now: 0) }
            recordCount += records(in: sealed).count
            let opened = pair.right.open(sealed, now: 0)
            #expect(opened.end == nil)
            received += opened.stream.count
        }
        // One of the records says that the key is new.
        #expect(received == 66_000 && recordCount == received + 1)
    }

    @Test func `a sender with the limits of users has a new key after an hour, and records may come as late`() throws {
        let hour: UInt64 = 60 * 60 * 1_000
        var pair = try ChannelPair()
        let first = pair.left.seal([1], now: 0)
        #expect(pair.right.open(first, now: 0).end == nil)
        let last = pair.left.seal([2], now: hour - 1)
        let next = pair.left.seal([3], now: hour)
        #expect(records(in: last).count == 1 && records(in: next).count == 2)
        let opened = pair.right.open(last + next, now: 2 * hour - 1)
        #expect(Array(opened.stream) == [2, 3] && opened.end == nil)
    }

    @Test func `both sides use the new key from the record behind a rekey on, and the old one no more`() throws {
        let never = KeyLimits(recordCount: .max, byteCount: .max, ageMilliseconds: .max)
        // The same messages, sealed by one who keeps to one key, and by one who uses each for two records.
        var old: [[UInt8]] = []
        var new: [[UInt8]] = []
        var keeper = try ChannelPair(sendingLimits: never, receivingLimits: never)
        var changer = try ChannelPair(sendingLimits: .records(2), receivingLimits: never)
        for number in 0..<4 as Range<UInt8> {
            old += records(in: keeper.left.seal([number], now: 0))
            new += records(in: changer.left.seal([number], now: 0))
        }
        #expect(old.count == 4 && new.count == 5)
        #expect(Array(new[..<2]) == Array(old[..<2]))
        let opened = changer.right.open(Array(new.joined()), now: 0)
        #expect(Array(opened.stream) == [0, 1, 2, 3] && opened.end == nil)
        // The old key is refused behind the rekey, and the new one before it.
        var behind = try ChannelPair(receivingLimits: never)
        #expect(behind.right.open(Array(new[..<3].joined()), now: 0).end == nil)
        #expect(behind.right.open(old[3], now: 0).end == .violation(.badTag))
        var before = try ChannelPair(receivingLimits: never)
        #expect(before.right.open(Array(old[..<3].joined()), now: 0).end == nil)
        #expect(before.right.open(new[3], now: 0).end == .violation(.badTag))
    }

    @Test func `a rekey record is not accepted a second time`() throws {
        var pair = try ChannelPair(sendingLimits: .records(1), receivingLimits: .records(1))
        let first = pair.left.seal([1], now: 0)
        let second = records(in: pair.left.seal([2], now: 0))
        #expect(second.count == 2)
        #expect(pair.right.open(first + second[0], now: 0).end == nil)
        #expect(pair.right.open(second[0], now: 0).end == .violation(.badTag))
    }
}
