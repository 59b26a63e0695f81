internal import CRDTCore
internal import NIOCore
internal import NIOHTTP1
internal import PeerdKit
internal import Persistence
internal import Synchronization

/// An answer with all of its fields, ready to be written as often as somebody wants it.
struct ReadyAnswer: Sendable {
    let head: HTTPResponseHead
    let body: ByteBuffer

    /// `response`: one whose body is there as a whole.
    init(_ response: Response) {
        var bytes: [UInt8] = []
        if case .bytes(let content) = response.body { bytes = content }
        let byteCount = UInt64(bytes.count)
        self.head = ResponseWriter.head(response, to: .GET, version: .http1_1, byteCount: byteCount, closes: false)
        self.body = ByteBuffer(bytes: bytes)
    }
}

/// Answers about objects, each of use until something is committed.
///
/// Pages and scripts ask for the same few objects again and again; to see that nothing has changed costs a small part
/// of reading one.
final class ReadyAnswers: Sendable {
    private struct Entry {
        let mark: SnapshotMark
        let answer: ReadyAnswer
    }

    private struct State {
        var entries: [ObjectID: Entry] = [:]
        var byteCount = 0
    }

    private let state = Mutex(State())

    /// Bytes of all bodies; larger ones than a part of it are not kept.
    private static let byteCountMax = 1 << 20
    private static let bodyByteCountMax = 16 << 10
    /// What an entry takes beside its body, roughly.
    private static let entryByteCount = 256

    /// Answers a request for an object, if that can be done at once.
    func answer(_ id: ObjectID, in workspace: Workspace, _ make: (Object) throws -> Response) -> ReadyAnswer? {
        let known = self.state.withLock { $0.entries[id] }
        switch try? workspace.objectAtOnce(id, unlessUnchangedSince: known?.mark) {
        case .unchanged: return known?.answer
        case .content(let object?, let mark):
            guard let answer = (try? make(object)).map({ ReadyAnswer($0) }) else { return nil }
            if let mark { self.keep(Entry(mark: mark, answer: answer), for: id) }
            return answer
        case .content(nil, _), nil: return nil
        }
    }

    private func keep(_ entry: Entry, for id: ObjectID) {
        let byteCount = entry.answer.body.readableBytes
        guard byteCount <= Self.bodyByteCountMax else { return }
        self.state.withLock { state in
            if let old = state.entries.removeValue(forKey: id) {
                state.byteCount -= old.answer.body.readableBytes + Self.entryByteCount
            }
            // What is asked for often comes back at once.
            if state.byteCount >= Self.byteCountMax { state = State() }
            state.entries[id] = entry
            state.byteCount += byteCount + Self.entryByteCount
        }
    }
}
