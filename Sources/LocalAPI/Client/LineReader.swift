/// Cuts what arrives into lines; never holds more than one line and what came with it.
struct LineReader: Sendable {
    private var buffer: [UInt8] = []
    /// Where the next line begins.
    private var start = 0
    private var searched = 0
    let byteCountMax: Int

    init(byteCountMax: Int) { self.byteCountMax = byteCountMax }

    /// Whether everything that came was handed out.
    var isEmpty: Bool { self.start == self.buffer.count }

    mutating func append(_ bytes: some Sequence<UInt8>) {
        self.buffer.removeFirst(self.start)
        self.searched -= self.start
        self.start = 0
        self.buffer.append(contentsOf: bytes)
    }

    /// The next line without its end; nil until it is complete.
    mutating func next() throws -> [UInt8]? {
        guard let end = self.buffer[self.searched...].firstIndex(of: UInt8(ascii: "\n")) else {
            self.searched = self.buffer.count
            guard self.buffer.count - self.start <= self.byteCountMax else { throw APIConnectionError.notUnderstood }
            return nil
        }
        guard end - self.start <= self.byteCountMax else { throw APIConnectionError.notUnderstood }
        defer { (self.start, self.searched) = (end + 1, end + 1) }
        return Array(self.buffer[self.start..<end])
    }
}
