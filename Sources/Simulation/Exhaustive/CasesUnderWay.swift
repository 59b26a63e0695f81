internal import Foundation
internal import Synchronization

/// The case that one thread is at, packed into one number: a thread says so before every merge.
///
/// From the lowest bit: four moves of four bits, up to four arrivals of three bits (the author, and whether a batch
/// begins), their number in three bits, and above them a count of the cases.
package final class CaseUnderWay: Sendable {
    private let packed = Atomic<UInt64>(0)
    private let count = Atomic<UInt64>(0)

    fileprivate init() {}

    /// The thread goes on to a case.
    package func begin(_ moves: [Int], _ batches: [[Int]]) {
        var bits: UInt64 = 0
        for (author, move) in moves.enumerated() { bits |= UInt64(move) << UInt64(author * 4) }
        var arrival: UInt64 = 0
        for batch in batches {
            for (place, author) in batch.enumerated() {
                bits |= (UInt64(author) | (place == 0 ? 4 : 0)) << (16 + arrival * 3)
                arrival += 1
            }
        }
        bits |= arrival << 28
        let number = self.count.wrappingAdd(1, ordering: .relaxed).newValue
        self.packed.store(bits | number << 31, ordering: .relaxed)
    }

    fileprivate var bits: UInt64 { self.packed.load(ordering: .relaxed) }

    fileprivate static func test(_ bits: UInt64) -> TreeCase {
        var batches: [[Int]] = []
        for arrival in 0..<bits >> 28 & 7 {
            let entry = bits >> (16 + arrival * 3)
            if entry & 4 != 0 { batches.append([]) }
            batches[batches.count - 1].append(Int(entry & 3))
        }
        return TreeCase(moves: (0..<4).map { Int(bits >> UInt64($0 * 4) & 15) }, batches: batches)
    }
}

/// The tree each thread is at: so that a case that never ends, as a merge into a cycle may not, can be named.
package final class CasesUnderWay: Sendable {
    /// Those of this process.
    package static let all = CasesUnderWay()

    private let jobs = Mutex<[Int: CaseUnderWay]>([:])

    /// A thread takes up a job.
    package func start(job: Int) -> CaseUnderWay {
        let underWay = CaseUnderWay()
        self.jobs.withLock { $0[job] = underWay }
        return underWay
    }

    package func end(job: Int) { self.jobs.withLock { $0[job] = nil } }

    /// Calls `body` with a case that was under way at each of so many looks.
    ///
    /// `pause` lets time pass before a look, and returns whether to look on.
    package func watch(count: Int, pause: () -> Bool, _ body: (TreeCase) -> Void) {
        var seen: [Int: (bits: UInt64, count: Int)] = [:]
        while pause() {
            let present = self.jobs.withLock { $0.mapValues(\.bits) }
            for job in seen.keys where present[job] == nil { seen[job] = nil }
            for (job, bits) in present {
                let before = seen[job]
                seen[job] = (bits, before?.bits == bits ? (before?.count ?? 0) + 1 : 1)
            }
            let stuck = seen.filter { $0.value.bits != 0 && $0.value.count >= count }.min { $0.key < $1.key }
            if let stuck { body(CaseUnderWay.test(stuck.value.bits)) }
        }
    }

    /// Calls `body` from another thread if a case takes so many seconds; they should take some microseconds.
    package func watch(seconds: Int, _ body: @escaping @Sendable (TreeCase) -> Void) {
        Thread.detachNewThread {
            self.watch(
                count: seconds,
                pause: {
                    Thread.sleep(forTimeInterval: 1)
                    return true
                },
                body
            )
        }
    }
}
