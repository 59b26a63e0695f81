internal import CRDTCore
internal import FileServing
internal import NIOHTTP1
internal import PeerdKit
internal import Persistence
internal import Synchronization

/// The JSON of an object as a response, and the tag of its version.
struct ObjectText: Sendable {
    let tag: EntityTag
    let response: Response
    let byteCount: Int

    init(_ object: Object) {
        var bytes: [UInt8] = []
        self.tag = EntityTag(version: object.append(to: &bytes))
        var response = Response(json: bytes)
        response.headers.add(name: "ETag", value: self.tag.text)
        (self.response, self.byteCount) = (response, bytes.count)
    }
}

/// The texts of objects that were read, each of use until something is committed.
///
/// Pages and scripts ask for the same few objects again and again; to see that nothing has changed costs a small part
/// of reading one.
final class ReadTexts: Sendable {
    private struct Entry {
        let mark: ReadMark
        let text: ObjectText
    }

    private struct State {
        var entries: [ObjectID: Entry] = [:]
        var byteCount = 0
    }

    private let state = Mutex(State())

    /// Bytes of all texts; larger ones than a part of it are not kept.
    private static let byteCountMax = 1 << 20
    private static let textByteCountMax = 16 << 10
    /// What an entry takes beside its text, roughly.
    private static let entryByteCount = 256

    /// The text of an object as it is now; nil if there is none, or it cannot be read at once.
    func text(of id: ObjectID, in workspace: Workspace) -> ObjectText? {
        let known = self.state.withLock { $0.entries[id] }
        switch try? workspace.objectAtOnce(id, unlessUnchangedSince: known?.mark) {
        case .unchanged: return known?.text
        case .content(let object?, let mark):
            let text = ObjectText(object)
            if let mark { self.keep(Entry(mark: mark, text: text), for: id) }
            return text
        case .content(nil, _), nil: return nil
        }
    }

    private func keep(_ entry: Entry, for id: ObjectID) {
        let byteCount = entry.text.byteCount
        guard byteCount <= Self.textByteCountMax else { return }
        self.state.withLock { state in
            if let old = state.entries.removeValue(forKey: id) {
                state.byteCount -= old.text.byteCount + Self.entryByteCount
            }
            // What is asked for often comes back at once.
            if state.byteCount >= Self.byteCountMax { state = State() }
            state.entries[id] = entry
            state.byteCount += byteCount + Self.entryByteCount
        }
    }
}
