internal import Foundation
internal import Simulation

/// Asks another process, which is started when it is first asked, and again when a question has ended it.
final class RestartedWorker {
    private let launch: SeedWorker.Launch
    private var worker: SeedWorker?

    init(_ launch: SeedWorker.Launch) { self.launch = launch }

    deinit { self.worker?.stop() }

    /// Whether the last question has left the process in place.
    var isRunning: Bool { self.worker != nil }

    /// The answer to a question, or what is made of how the process ended; throws if there can be no process.
    func answer<Answer: Decodable>(to question: String, endedBy ending: (Finding) -> Answer) throws -> Answer {
        let present = try self.worker ?? SeedWorker(self.launch)
        self.worker = present
        let line = present.answer(to: question)
        if let line, let answer = try? JSONDecoder().decode(Answer.self, from: line) { return answer }
        self.worker = nil
        return ending(present.ending())
    }
}
